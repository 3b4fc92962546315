//! A directory through its doors: what each test proves stands in its name, with the clause of the RFC.

mod access;
mod altered;
mod authorization;
mod certificates;
mod damage;
mod files;
mod groups;
mod hidden;
mod importing;
mod limits;
mod list_views;
mod many_items;
mod names;
mod parts;
mod ranges;
mod reading;
mod references;
mod rules;
mod sample;
mod searching;
mod sorting;
mod structure;
mod two_programs;
mod waiting;
mod windows;
mod writing;
