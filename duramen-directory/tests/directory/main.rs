//! A directory through its doors: what each test proves stands in its name, with the clause of the RFC.

mod files;
mod groups;
mod helpers;
mod reading;
mod rules;
mod searching;
mod writing;
