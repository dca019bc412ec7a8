//! Labels of byte ranges in memory and in data.

use super::labels::{Label, Labels, NONE};

/// The labels of bytes in memory or in data passed on. Bytes without label are in no span.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    /// Sorted, without overlaps.
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    from: usize,
    to: usize,
    label: Label,
}

impl Spans {
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The number of spans.
    pub fn count(&self) -> usize {
        self.spans.len()
    }

    /// The union of these bytes' labels.
    pub fn of(&self, from: usize, length: usize, labels: &mut Labels) -> Label {
        self.within(from, length).fold(NONE, |all, span| labels.union(all, span.label))
    }

    /// The label of a word that was written as a whole.
    pub fn word(&self, from: usize) -> Option<Label> {
        let span = self.spans.get(self.first(from))?;
        (span.from == from && span.to == from.saturating_add(32)).then_some(span.label)
    }

    /// Sets the label of these bytes.
    pub fn set(&mut self, from: usize, length: usize, label: Label) {
        let span = Span { from, to: from.saturating_add(length), label };
        if length > 0 {
            self.replace(from, span.to, (label != NONE).then_some(span).into_iter());
        }
    }

    /// Adds a label to these bytes.
    pub fn add(&mut self, from: usize, length: usize, label: Label, labels: &mut Labels) {
        if label == NONE || length == 0 {
            return;
        }
        let (mut added, mut at) = (Vec::new(), from);
        let to = from.saturating_add(length);
        for held in self.within(from, length) {
            if at < held.from {
                added.push(Span { from: at, to: held.from, label });
            }
            added.push(Span { label: labels.union(held.label, label), ..held });
            at = held.to;
        }
        if at < to {
            added.push(Span { from: at, to, label });
        }
        self.replace(from, to, added.into_iter());
    }

    /// A copy of these bytes' spans, starting at 0.
    pub fn copy(&self, from: usize, length: usize) -> Self {
        Self { spans: self.within(from, length).map(|span| span.moved(from, 0)).collect() }
    }

    /// Overwrites bytes with those of `source` from `from` on.
    pub fn paste(&mut self, to: usize, source: &Self, from: usize, length: usize) {
        if length > 0 {
            let pasted = source.within(from, length).map(|span| span.moved(from, to));
            self.replace(to, to.saturating_add(length), pasted);
        }
    }

    /// Index of the first span that ends beyond this byte.
    fn first(&self, from: usize) -> usize {
        self.spans.partition_point(|span| span.to <= from)
    }

    /// @param spans within these bytes, sorted
    fn replace(&mut self, from: usize, to: usize, spans: impl Iterator<Item = Span>) {
        let first = self.first(from);
        let count = self.spans[first..].iter().take_while(|span| span.from < to).count();
        let held = &self.spans[first..first + count];
        let before = held.first().filter(|held| held.from < from).map(|held| Span { to: from, ..*held });
        let after = held.last().filter(|held| held.to > to).map(|held| Span { from: to, ..*held });
        self.spans.splice(first..first + count, before.into_iter().chain(spans).chain(after));
    }

    /// The spans cut to these bytes.
    fn within(&self, from: usize, length: usize) -> impl Iterator<Item = Span> + '_ {
        let to = from.saturating_add(length);
        let spans = self.spans[self.first(from)..].iter().take_while(move |span| span.from < to);
        spans.map(move |span| Span { from: span.from.max(from), to: span.to.min(to), ..*span })
    }
}

impl Span {
    /// The span moved from `from` to `to`.
    fn moved(self, from: usize, to: usize) -> Self {
        let place = |at: usize| (at - from).saturating_add(to);
        Self { from: place(self.from), to: place(self.to), ..self }
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
