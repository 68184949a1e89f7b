# Completion of drrn for bash; made by: drrn completion {shell}
_drrn() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} command=${{COMP_WORDS[1]}}
    local previous=${{COMP_WORDS[COMP_CWORD-1]}} words
    if [ "$COMP_CWORD" = 1 ]; then
        words={commands}
    else
        case "$command $previous" in
{values}
        *) case "$command" in
{options}
            esac ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _drrn drrn
