//! The lines of the text where entries came from, by their ids, in a byte or two each.

use crate::tables::Id;

/// Lines of entries whose ids count up from 1.
#[derive(Default)]
pub(super) struct Lines {
    /// By how much each line is greater than the one before: seven bits in a byte, the lowest first, and the highest bit
    /// of all but the last. The lowest bit of the number says that it is less instead: entries may wait for their parents.
    steps: Vec<u8>,
    last: u64,
}

impl Lines {
    /// The next entry's.
    pub fn push(&mut self, line: u64) {
        let mut step = self.last.abs_diff(line) << 1 | u64::from(line < self.last);
        self.last = line;
        while step >= 0x80 {
            self.steps.push((step & 0x7F) as u8 | 0x80);
            step >>= 7;
        }
        self.steps.push((step & 0x7F) as u8);
    }

    /// The line of an entry that was pushed.
    pub fn line(&self, id: Id) -> u64 {
        let ends = |byte: &u8| byte & 0x80 == 0;
        let steps = self.steps.split_inclusive(ends).take(id as usize);
        steps.fold(0, |line, bytes| {
            let step = bytes.iter().rev().fold(0, |step: u64, byte| step << 7 | u64::from(byte & 0x7f));
            if step & 1 == 0 { line + (step >> 1) } else { line - (step >> 1) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_in_whatever_order_they_came() {
        let all = [1, 5, 20, 70_000, 69_999, 2, 3, 1 << 40, 1];
        let mut lines = Lines::default();
        all.iter().for_each(|line| lines.push(*line));
        assert!((1..).zip(all).all(|(id, line)| lines.line(id) == line));
    }
}
