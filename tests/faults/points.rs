//! Every point of the lane's protocol with every fault: a matrix.
//!
//! Each case has a topic and a plan of its own, and several run side by side. The oracle issues numbered
//! records, half of them plain, half in transactions of which a part is aborted first; a worker copies
//! them and is struck once, in mid-run; whoever is left finishes; and the oracle reads the target: every
//! committed record once, in order, and nothing else. A case whose fault did not strike has failed.
//!
//! `ONCEOVER_POINTS=text` runs the cases whose name, as in the table, holds the text.

mod alone;
mod case;
mod report;
mod strike;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use case::{Case, Fault, Place, Point};
use report::{Outcome, Row};

/// So many at a time: most of them wait for time-outs most of the time.
const AT_A_TIME: usize = 14;

/// In the order in which a transaction passes them.
const POINTS: [Point; 12] = [
    // Both: it is fenced anew because a data commit failed before it was sent.
    Point::new("lane-in-fence", Place::Lane, 1)
        .after("lane-before-commit=2*off->1*return(abort)->off"),
    Point::new("lane-after-fence", Place::Lane, 1)
        .after("lane-before-commit=2*off->1*return(abort)->off"),
    // The bindings are the first transaction.
    Point::new("lane-after-begin", Place::Lane, 3),
    Point::new("lane-after-produce", Place::Lane, 3).open(),
    Point::new("lane-before-ledger", Place::Lane, 3).open(),
    Point::new("lane-after-ledger", Place::Lane, 3).open(),
    Point::new("lane-before-offsets", Place::Lane, 3).open(),
    Point::new("lane-after-offsets", Place::Lane, 3).open(),
    Point::new("lane-before-commit", Place::Lane, 3).open(),
    Point::new("lane-after-commit", Place::Lane, 3),
    Point::new("lane-in-revoke", Place::Revoke, 0),
    Point::new("lane-before-release", Place::Revoke, 0),
];

/// Points inside the transaction that binds a lane's partitions, before any data.
const BINDINGS: [Point; 3] = [
    Point::new("lane-after-ledger", Place::Bindings, 0).open(),
    Point::new("lane-after-offsets", Place::Bindings, 0).open(),
    Point::new("lane-after-commit", Place::Bindings, 0),
];

const FAULTS: [Fault; 12] = [
    Fault::Kill,
    Fault::Error("retriable"),
    Fault::Error("abort"),
    Fault::Error("unclear"),
    Fault::Error("fenced"),
    Fault::Error("not-member"),
    Fault::Error("record"),
    Fault::Error("taken-over"),
    Fault::Error("final"),
    Fault::Outlast,
    Fault::Frozen,
    Fault::Replaced,
];

fn cases() -> Vec<Case> {
    let matrix = |points: &'static [Point], faults: &'static [Fault]| {
        points.iter().flat_map(move |point| faults.iter().map(move |&fault| Case { point, fault }))
    };
    let bindings = [Fault::Kill, Fault::Error("unclear"), Fault::Outlast, Fault::Replaced];
    let mut cases: Vec<Case> = matrix(&POINTS, &FAULTS).collect();
    cases.extend(BINDINGS.iter().flat_map(|point| bindings.map(|fault| Case { point, fault })));
    // In a revoke there is a second worker by nature: what was frozen is replaced.
    cases.retain(|case| case.point.place != Place::Revoke || case.fault != Fault::Frozen);
    let wanted = std::env::var("ONCEOVER_POINTS").unwrap_or_default();
    cases.retain(|case| case.to_string().contains(&wanted));
    assert!(!cases.is_empty(), "no case is named like `{wanted}`");
    // The long ones first: then nobody waits for a last one alone.
    cases.sort_by_key(|case| match case.fault {
        Fault::Replaced => 0,
        Fault::Frozen | Fault::Outlast => 1,
        _ => 2,
    });
    cases
}

fn run(case: &Case) -> Row {
    let began = Instant::now();
    let done = catch_unwind(AssertUnwindSafe(|| strike::conduct(case)));
    let outcome = match done {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => Outcome::broken(&error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
            Outcome::broken(&text.unwrap_or_default())
        }
    };
    Row { case: *case, outcome, seconds: began.elapsed().as_secs_f64() }
}

#[test]
fn at_every_point_every_fault_leaves_each_record_once_and_in_order() {
    let began = Instant::now();
    let cases = cases();
    crate::brokers::shared::clusters();
    let (next, rows) = (AtomicUsize::new(0), Mutex::new(Vec::<Row>::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = run(case);
                    let mut rows = rows.lock().expect("no thread panics with it");
                    rows.push(row);
                    println!("{} of {}: {case}", rows.len(), cases.len());
                }
            });
        }
    });
    let mut rows = rows.into_inner().expect("no thread panicked with it");
    assert_eq!(rows.len(), cases.len());
    rows.sort_by_key(Row::order);
    let text = report::write(&rows, began.elapsed());
    println!("{text}");
    let failed: Vec<String> = rows.iter().filter_map(Row::failure).collect();
    assert!(failed.is_empty(), "{} cases failed:\n{}", failed.len(), failed.join("\n"));
}
