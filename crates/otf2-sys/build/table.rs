//! The function table filled from symbols that are linked in.

/// Rust source of `Otf2::from_static`, for the structure that bindgen generates.
///
/// bindgen knows how to fill its table from a shared library only. Here each field takes the
/// address of the symbol of its name; the field's type is the one that bindgen read in the header.
pub(crate) fn from_static(functions: &[&str]) -> String {
    let symbols: String = functions.iter().map(|name| format!("fn {name}();\n")).collect();
    let fields: String = functions
        .iter()
        .map(|name| {
            format!(
                "// SAFETY: the symbol and the type of the field come from the same header.\n\
                 {name}: unsafe {{ ::std::mem::transmute(symbols::{name} as *const ()) }},\n"
            )
        })
        .collect();
    format!(
        "mod symbols {{\n unsafe extern \"C\" {{\n{symbols}}}\n}}\n\
         impl Otf2 {{\n\
         pub(crate) fn from_static() -> Self {{\n\
         Self {{\n__library: ::libloading::os::unix::Library::this().into(),\n{fields}}}\n}}\n}}\n"
    )
    .replace("fn OTF2", "pub(super) fn OTF2")
}
