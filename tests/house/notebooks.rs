//! Notebooks are kept as they are written: results are made anew.

use std::fs;
use std::path::Path;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn notebooks_are_kept_without_outputs() {
    let folder = fs::read_dir(Path::new(ROOT).join("notebooks")).expect("notebooks are there");
    let paths = folder.map(|entry| entry.expect("a readable folder").path());
    let notebooks: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|suffix| suffix == "ipynb")).collect();
    assert!(notebooks.len() >= 2, "{notebooks:?}");
    for path in notebooks {
        let text = fs::read_to_string(&path).expect("a readable notebook");
        let notebook: serde_json::Value = serde_json::from_str(&text).expect("a notebook is JSON");
        let cells = notebook["cells"].as_array().expect("a notebook has cells");
        let codes = cells.iter().filter(|cell| cell["cell_type"] == "code");
        for cell in codes {
            let (outputs, count) = (&cell["outputs"], &cell["execution_count"]);
            let kept = outputs.as_array().is_none_or(|outputs| !outputs.is_empty());
            assert!(!kept && count.is_null(), "{}: {}", path.display(), cell["source"]);
        }
    }
}
