//! Plans against references that share no code with the solver, and against what has to be true of all plans.

mod bad_input;
mod brute_force;
mod explanations;
mod few_devices;
mod highs;
mod kim;
mod relations;
mod small;
