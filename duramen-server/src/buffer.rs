//! Bytes that came in and were not looked at yet, and where connections get their buffers from.
//!
//! An idle connection has no buffers: they go back to its thread as soon as they are empty, and the next connection
//! finds them warm.

use std::cell::RefCell;
use std::mem;

/// What a buffer begins with, and what goes back to the pool: longer ones are freed.
const KEPT_BYTES: usize = 64 << 10;
/// Buffers of a kind that a thread keeps.
const KEPT: usize = 64;

/// Bytes received. Those in `start..end` are waiting.
#[derive(Default)]
pub struct Input {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Input {
    /// What waits.
    pub fn waiting(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Takes `count` bytes off the front.
    pub fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }

    /// Room for more bytes, at least one. Grows by doubling what has arrived, never by what a header announces.
    pub fn room(&mut self, pool: &Pool) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = pool.take_input();
        }
        if self.start > 0 && (self.is_empty() || self.end == self.bytes.len()) {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.bytes.len() {
            self.bytes.resize(self.bytes.len() * 2, 0);
        }
        &mut self.bytes[self.end..]
    }

    /// Says that `count` bytes of the room were filled.
    pub fn filled(&mut self, count: usize) {
        self.end += count;
        debug_assert!(self.end <= self.bytes.len());
    }

    /// Gives the memory back if nothing waits.
    pub fn release(&mut self, pool: &Pool) {
        if self.is_empty() && !self.bytes.is_empty() {
            pool.give_input(mem::take(self).bytes);
        }
    }
}

/// Bytes to be sent: all behind `sent`.
#[derive(Default)]
pub struct Output {
    /// The whole; answers are appended here.
    pub bytes: Vec<u8>,
    sent: usize,
}

impl Output {
    /// What is still to be sent.
    pub fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    /// How much is still to be sent.
    pub fn unsent_bytes(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// Whether all was sent.
    pub fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Makes sure that there is a buffer to append to.
    pub fn acquire(&mut self, pool: &Pool) {
        if self.bytes.capacity() == 0 {
            self.bytes = pool.take_output();
        }
    }

    /// Says that `count` more bytes were sent.
    pub fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
        }
    }

    /// Gives the memory back if all was sent.
    pub fn release(&mut self, pool: &Pool) {
        if self.is_empty() && self.bytes.capacity() > 0 {
            self.sent = 0;
            pool.give_output(mem::take(&mut self.bytes));
        }
    }
}

/// A thread's buffers.
#[derive(Default)]
pub struct Pool {
    inputs: RefCell<Vec<Vec<u8>>>,
    outputs: RefCell<Vec<Vec<u8>>>,
}

impl Pool {
    fn take_input(&self) -> Vec<u8> {
        self.inputs.borrow_mut().pop().unwrap_or_else(|| vec![0; KEPT_BYTES])
    }

    fn give_input(&self, bytes: Vec<u8>) {
        let mut inputs = self.inputs.borrow_mut();
        if bytes.len() == KEPT_BYTES && inputs.len() < KEPT {
            inputs.push(bytes);
        }
    }

    fn take_output(&self) -> Vec<u8> {
        self.outputs.borrow_mut().pop().unwrap_or_else(|| Vec::with_capacity(KEPT_BYTES))
    }

    fn give_output(&self, mut bytes: Vec<u8>) {
        let mut outputs = self.outputs.borrow_mut();
        if bytes.capacity() <= 8 * KEPT_BYTES && outputs.len() < KEPT {
            bytes.clear();
            outputs.push(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrives_a_byte_at_a_time_waits_in_order_and_memory_grows_with_it() {
        let pool = Pool::default();
        let mut input = Input::default();
        for byte in 0..200_000u32 {
            input.room(&pool)[0] = byte as u8;
            input.filled(1);
        }
        assert_eq!(input.waiting().len(), 200_000);
        assert!(input.waiting().iter().enumerate().all(|(at, &byte)| byte == at as u8));
        input.consume(199_999);
        assert_eq!(input.waiting(), [(199_999u32) as u8]);
        assert!(!input.room(&pool).is_empty());
        input.consume(1);
        input.release(&pool);
        assert!(input.bytes.is_empty() && pool.inputs.borrow().is_empty(), "a buffer that grew is freed");
    }

    #[test]
    fn an_empty_buffer_goes_back_and_comes_again() {
        let pool = Pool::default();
        let mut output = Output::default();
        output.acquire(&pool);
        output.bytes.extend_from_slice(b"answer");
        output.advance(2);
        assert_eq!(output.unsent(), b"swer");
        output.release(&pool);
        assert!(pool.outputs.borrow().is_empty(), "not while something is to be sent");
        output.advance(4);
        output.release(&pool);
        assert_eq!(pool.outputs.borrow().len(), 1);
        output.acquire(&pool);
        assert!(pool.outputs.borrow().is_empty() && output.bytes.is_empty());
    }
}
