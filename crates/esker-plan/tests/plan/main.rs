//! Plans against references that share no code with the solver, and against what has to be true of all plans.

mod bad_input;
mod brute_force;
mod explanations;
mod highs;
mod kim;
mod relations;
mod small;
