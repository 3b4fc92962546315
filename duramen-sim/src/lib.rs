//! Crash simulator for the engine.
