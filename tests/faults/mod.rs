//! The fault suite: what goes wrong under the pipe, one kind of trouble per file.

mod lineage;
mod obstacles;
