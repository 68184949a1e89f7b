// Compiles Ink source by inkjs, which is loaded before; `files` are the included ones, by name.
function compileInk(source, files) {
    const faults = [];
    const handler = {
        ResolveInkFilename: (name) => name,
        LoadInkFileContents: (name) => files[name],
    };
    const report = (message, kind) => kind === 2 && faults.push(message);
    const options = new inkjs.CompilerOptions(null, [], false, report, handler);
    try {
        return JSON.stringify([new inkjs.Compiler(source, options).Compile().ToJson(), faults]);
    } catch (error) {
        return JSON.stringify(["", [...faults, String(error)]]);
    }
}
