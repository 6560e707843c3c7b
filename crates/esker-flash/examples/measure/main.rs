//! What documents say of drives, measured: `cargo run --release -p esker-flash --example measure -- WHAT [ARGUMENTS]`.

mod pools;
mod recovery;
mod steady;

#[expect(clippy::print_stderr, reason = "it says how it is used")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next();
    let arguments: Vec<String> = arguments.collect();
    match what.as_deref() {
        Some("pools") => pools::run(),
        Some("recovery") => recovery::run(&arguments),
        Some("steady") => steady::run(&arguments),
        _ => {
            eprintln!("error: what is to be measured: pools, recovery or steady");
            std::process::exit(2);
        }
    }
}
