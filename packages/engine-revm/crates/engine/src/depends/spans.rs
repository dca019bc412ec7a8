use super::labels::{Label, Labels, NONE};
use std::collections::BTreeMap;

/// The labels of bytes: of memory, or of what is passed on. Bytes without one are in no span.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// By the first byte; none overlaps another.
    spans: BTreeMap<usize, (usize, Label)>,
}

impl Spans {
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    /// All labels of these bytes.
    pub fn of(&self, from: usize, length: usize, labels: &mut Labels) -> Label {
        self.within(from, length).fold(NONE, |all, (_, _, label)| labels.union(all, label))
    }

    /// Gives all these bytes this label.
    pub fn set(&mut self, from: usize, length: usize, label: Label) {
        if length == 0 {
            return;
        }
        let to = from.saturating_add(length);
        if self.spans.is_empty() && label == NONE {
            return;
        }
        let held: Vec<(usize, usize, Label)> = self.overlapping(from, to).collect();
        for (start, end, label) in held {
            self.spans.remove(&start);
            if start < from {
                self.spans.insert(start, (from, label));
            }
            if end > to {
                self.spans.insert(to, (end, label));
            }
        }
        if label != NONE {
            self.spans.insert(from, (to, label));
        }
    }

    /// Adds a label to all these bytes.
    pub fn add(&mut self, from: usize, length: usize, label: Label, labels: &mut Labels) {
        if label == NONE || length == 0 {
            return;
        }
        let held: Vec<(usize, usize, Label)> = self.within(from, length).collect();
        self.set(from, length, label);
        for (start, end, old) in held {
            self.set(start, end - start, labels.union(old, label));
        }
    }

    /// These bytes, from 0 on.
    pub fn copy(&self, from: usize, length: usize) -> Self {
        if self.spans.is_empty() {
            return Self::default();
        }
        Self {
            spans: self.within(from, length).map(|(start, end, label)| (start - from, (end - from, label))).collect(),
        }
    }

    /// Overwrites bytes with those of `source` from `from` on.
    pub fn paste(&mut self, to: usize, source: &Self, from: usize, length: usize) {
        let pasted = source.copy(from, length);
        self.set(to, length, NONE);
        for (start, (end, label)) in pasted.spans {
            self.spans.insert(to.saturating_add(start), (to.saturating_add(end), label));
        }
    }

    fn overlapping(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, usize, Label)> + '_ {
        let first = self.spans.range(..=from).next_back().map_or(from, |(start, _)| *start);
        let spans = self.spans.range(first..to.max(first)).map(|(start, (end, label))| (*start, *end, *label));
        spans.filter(move |(_, end, _)| *end > from)
    }

    /// Spans cut to these bytes.
    fn within(&self, from: usize, length: usize) -> impl Iterator<Item = (usize, usize, Label)> + '_ {
        let to = from.saturating_add(length);
        self.overlapping(from, to).map(move |(start, end, label)| (start.max(from), end.min(to), label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(spans: &Spans, labels: &mut Labels, length: usize) -> Vec<Label> {
        (0..length).map(|at| spans.of(at, 1, labels)).collect()
    }

    #[test]
    fn keeps_a_label_for_each_byte() {
        let mut labels = Labels::default();
        let (a, b) = (labels.of(1), labels.of(2));
        let mut spans = Spans::default();
        spans.set(2, 4, a);
        spans.set(4, 1, b);
        assert_eq!(bytes(&spans, &mut labels, 7), [NONE, NONE, a, a, b, a, NONE]);
        spans.set(3, 2, NONE);
        assert_eq!(bytes(&spans, &mut labels, 7), [NONE, NONE, a, NONE, NONE, a, NONE]);
        spans.add(4, 3, b, &mut labels);
        let both = labels.union(a, b);
        assert_eq!(bytes(&spans, &mut labels, 7), [NONE, NONE, a, NONE, b, both, b]);
        assert_eq!(spans.of(0, usize::MAX, &mut labels), both);
    }

    #[test]
    fn copies_bytes_over_others() {
        let mut labels = Labels::default();
        let (a, b) = (labels.of(1), labels.of(2));
        let mut source = Spans::default();
        source.set(1, 2, a);
        let mut spans = Spans::default();
        spans.set(0, 6, b);
        spans.paste(1, &source, 0, 4);
        assert_eq!(bytes(&spans, &mut labels, 6), [b, NONE, a, a, NONE, b]);
        assert_eq!(bytes(&spans.copy(2, 2), &mut labels, 3), [a, a, NONE]);
    }
}
