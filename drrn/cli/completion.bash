# Completion of drrn for {shell}; made by: drrn completion {shell}
{start}_drrn() {{
    {line}
    local names= files=
    if [ "$index" = 1 ]; then
        names={commands}
    else
        case "$command $previous" in
{values}
        *) case "$word" in
        -*) case "$command" in
{options}
            esac ;;
        *) case "$command" in
{arguments}
            esac ;;
        esac ;;
        esac
    fi
    {answer}
}}
{register}
