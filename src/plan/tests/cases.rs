//! Plans that are wrong, one a file in `src/plan/cases/`, each with the exact error that it gets: the file's
//! last lines, after `#=`. `ONCEOVER_WRITE_CASES=1 cargo test cases` writes them anew, for review.

use std::fs;
use std::path::{Path, PathBuf};

use super::parse;

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/plan/cases");
    let files = fs::read_dir(folder).expect("the folder of cases");
    let mut cases: Vec<_> = files.map(|file| file.expect("a case").path()).collect();
    cases.sort();
    cases
}

#[test]
fn every_wrong_plan_gets_its_exact_error() {
    let cases = cases();
    assert!(cases.len() >= 35, "{}", cases.len());
    for path in cases {
        let text = fs::read_to_string(&path).expect("a case");
        let expected: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("#= ")).collect();
        let error = parse(&text).expect_err(&format!("{} is a good plan", path.display()));
        let error = error.to_string();
        assert!(!error.contains("hunter22"), "{}: {error}", path.display());
        if std::env::var_os("ONCEOVER_WRITE_CASES").is_some() {
            let plan: Vec<_> = text.lines().filter(|line| !line.starts_with("#= ")).collect();
            let marked = error.lines().map(|line| format!("#= {line}\n"));
            let plan: String = plan.iter().map(|line| format!("{line}\n")).collect();
            fs::write(&path, plan + &marked.collect::<String>()).expect("write a case");
        } else {
            assert_eq!(error, expected.join("\n"), "{}", path.display());
        }
    }
}
