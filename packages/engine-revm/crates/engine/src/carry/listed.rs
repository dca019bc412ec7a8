//! Takes a block's writes from its access list (EIP-7928), once the list's Keccak-256 hash is the header's.

use super::difference::{Difference, Differs, unless_same};
use crate::state::{Cached, Read, Writes, analysed};
use alloy_primitives::{Address, B256, Bytes, U256, hex, keccak256};
use alloy_rlp::Encodable;

/// A sealed block to be carried by its access list (EIP-7928).
#[derive(Clone, Debug)]
pub struct ListedBlock {
    pub hash: B256,
    pub number: u64,
    /// From the header.
    pub block_access_list_hash: B256,
}

/// What the block writes according to its list. Fails if the list's hash is not the header's.
/// @param list JSON, as returned by `eth_getBlockAccessList`
pub fn listed(block: &ListedBlock, list: &[u8]) -> Result<Writes, Differs> {
    let mut reader = Reader { text: list, rlp: Vec::with_capacity(list.len() / 2), codes: Vec::new() };
    // No details of the fault: they would quote the node.
    let mut writes = reader.list().ok_or_else(|| Differs::Found {
        difference: Difference::BlockAccessListHash,
        detail: "not an access list".to_owned(),
    })?;
    unless_same(Difference::BlockAccessListHash, keccak256(&reader.rlp), block.block_access_list_hash)?;
    let code_of = |(address, code)| {
        let (hash, code) = analysed(code);
        (Read::Code(address), Cached::Code(hash, code))
    };
    writes.values.extend(reader.codes.into_iter().map(code_of));
    Ok(writes)
}

const ACCOUNT: [&str; 6] =
    ["address", "storageChanges", "storageReads", "balanceChanges", "nonceChanges", "codeChanges"];

/// Parses a list's JSON in one pass, and writes its RLP, to be hashed, along the way. Methods return None for malformed text. Memory is a
/// few times the text; ignored fields may be nested to any depth.
struct Reader<'a> {
    text: &'a [u8],
    rlp: Vec<u8>,
    /// Kept separately: analysed only once the hash is verified.
    codes: Vec<(Address, Bytes)>,
}

impl<'a> Reader<'a> {
    /// The last value of each entry: changes are in block order, accounts and slots sorted. No account is cleared: one with storage is
    /// never created again (EIP-7610), and a destroyed one was created in the same transaction (EIP-6780), whose writes to it are not in
    /// the list.
    fn list(&mut self) -> Option<Writes> {
        // A slot written once takes a little more than this in JSON.
        let mut writes = Writes { values: Vec::with_capacity(self.text.len() / 160), ..Writes::default() };
        let (mut last, mut slots) = (None, Vec::new());
        self.array(|list| {
            let (mut address, mut balance, mut nonce, mut code) = (Address::ZERO, None, None, None);
            list.object(ACCOUNT, |list, field| {
                match field {
                    0 => address = list.address()?,
                    1 => list.array(|list| {
                        let (mut slot, mut value) = (U256::ZERO, None);
                        list.object(["key", "changes"], |list, field| {
                            match field {
                                0 => slot = list.word()?,
                                _ => value = list.changes("value", Self::word)?,
                            }
                            Some(())
                        })?;
                        slots.extend(value.map(|value| (slot, value)));
                        Some(())
                    })?,
                    2 => list.array(|list| list.word().map(|_| ()))?,
                    3 => balance = list.changes("value", Self::word)?,
                    4 => nonce = list.changes("value", Self::word)?.map(|nonce| nonce.min(U256::from(u64::MAX))),
                    _ => code = list.changes("code", Self::bytes)?,
                }
                Some(())
            })?;
            if last.replace(address) >= Some(address) || !slots.is_sorted_by(|(one, _), (other, _)| one < other) {
                return None;
            }
            list.codes.extend(code.map(|code| (address, code)));
            let mut write = |read, value| writes.values.push((read, Cached::Word(value)));
            balance.into_iter().for_each(|balance| write(Read::Balance(address), balance));
            nonce.into_iter().for_each(|nonce| write(Read::Nonce(address), nonce));
            slots.drain(..).for_each(|(slot, value)| write(Read::Storage(address, slot), value));
            Some(())
        })?;
        self.begins_with(b' ');
        self.text.is_empty().then_some(writes)
    }

    /// The value of the last change.
    fn changes<T>(&mut self, name: &str, value: fn(&mut Self) -> Option<T>) -> Option<Option<T>> {
        let mut last = None;
        self.array(|list| {
            list.object(["index", name], |list, field| match field {
                0 => list.word().map(|_| ()),
                _ => value(list).map(|value| last = Some(value)),
            })
        })?;
        Some(last)
    }

    fn array(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.take(b'[')?;
        let from = begin_list(&mut self.rlp);
        if !self.takes(b']') {
            item(self)?;
            while self.takes(b',') {
                item(self)?;
            }
            self.take(b']')?;
        }
        end_list(&mut self.rlp, from);
        Some(())
    }

    /// @param field reads the value of the field with this index; called once for each
    fn object<const N: usize>(
        &mut self,
        names: [&str; N],
        mut field: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        let from = begin_list(&mut self.rlp);
        // The fields' ranges in the RLP.
        let mut parts = [(0, 0); N];
        let mut expected = 0;
        loop {
            let place = match names.get(expected).and_then(|name| self.after_name(name)) {
                Some(rest) => {
                    self.text = rest;
                    Some(expected)
                }
                None => {
                    let name = self.string()?;
                    self.take(b':')?;
                    names.iter().position(|each| each.as_bytes() == name)
                }
            };
            match place {
                None => self.skip()?,
                Some(place) if parts[place].0 > 0 => return None,
                Some(place) => {
                    let begin = self.rlp.len();
                    field(self, place)?;
                    parts[place] = (begin, self.rlp.len());
                    expected = place + 1;
                }
            }
            if !self.takes(b',') {
                break;
            }
        }
        self.take(b'}')?;
        if parts.iter().any(|(begin, _)| *begin == 0) {
            return None;
        }
        if !parts.is_sorted() {
            let ordered: Vec<u8> = parts.iter().flat_map(|(begin, end)| &self.rlp[*begin..*end]).copied().collect();
            self.rlp.truncate(from);
            self.rlp.extend(ordered);
        }
        end_list(&mut self.rlp, from);
        Some(())
    }

    /// The text after this name, if it comes next, as in nearly every node's output.
    fn after_name(&self, name: &str) -> Option<&'a [u8]> {
        self.text.strip_prefix(b"\"")?.strip_prefix(name.as_bytes())?.strip_prefix(b"\":")
    }

    fn address(&mut self) -> Option<Address> {
        let mut address = Address::ZERO;
        hex::decode_to_slice(self.string()?, address.as_mut_slice()).ok()?;
        address.encode(&mut self.rlp);
        Some(address)
    }

    fn bytes(&mut self) -> Option<Bytes> {
        let bytes = Bytes::from(hex::decode(self.string()?).ok()?);
        bytes.encode(&mut self.rlp);
        Some(bytes)
    }

    /// A number, with or without leading zeros.
    fn word(&mut self) -> Option<U256> {
        self.take(b'"')?;
        let mut bytes = [0; 32];
        // Most words have all 32 bytes.
        match self.text.split_at_checked(66) {
            Some((word, [b'"', rest @ ..])) if hex::decode_to_slice(word, &mut bytes).is_ok() => self.text = rest,
            _ => {
                let digits = self.until_quote()?.strip_prefix(b"0x")?;
                bytes = [0; 32];
                for (place, digit) in digits.iter().rev().enumerate() {
                    let byte = bytes.get_mut(31usize.checked_sub(place / 2)?)?;
                    *byte |= (char::from(*digit).to_digit(16)? as u8) << (place % 2 * 4);
                }
            }
        }
        let value = U256::from_be_bytes(bytes);
        match value.leading_zeros() / 8 {
            0 => {
                self.rlp.push(0x80 + 32);
                self.rlp.extend_from_slice(&bytes);
            }
            zeros => bytes[zeros..].encode(&mut self.rlp),
        }
        Some(value)
    }

    /// A string without escapes: no valid list has them.
    fn string(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        self.until_quote()
    }

    fn until_quote(&mut self) -> Option<&'a [u8]> {
        let end = self.text.iter().position(|byte| *byte == b'"')?;
        let (string, rest) = self.text.split_at(end);
        self.text = &rest[1..];
        Some(string)
    }

    /// Skips a value.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0;
        loop {
            if self.begins_with(b'"') {
                self.string()?;
                continue;
            }
            match self.text.first()? {
                b'[' | b'{' => depth += 1,
                b',' | b'}' if depth == 0 => return Some(()),
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            self.text = &self.text[1..];
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    fn takes(&mut self, byte: u8) -> bool {
        let begins = self.begins_with(byte);
        if begins {
            self.text = &self.text[1..];
        }
        begins
    }

    /// Whether this byte comes next, after whitespace.
    fn begins_with(&mut self, byte: u8) -> bool {
        while let [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] = self.text {
            self.text = rest;
        }
        self.text.first() == Some(&byte)
    }
}

/// Begins an RLP list. @returns its position, for `end_list`
fn begin_list(rlp: &mut Vec<u8>) -> usize {
    rlp.push(0);
    rlp.len()
}

/// Ends the list begun at `from`: inserts its length, which moves the content if it takes more than one byte.
fn end_list(rlp: &mut Vec<u8>, from: usize) {
    let length = rlp.len() - from;
    if length < 56 {
        rlp[from - 1] = 0xc0 + length as u8;
        return;
    }
    let bytes = length.to_be_bytes();
    let bytes = &bytes[length.leading_zeros() as usize / 8..];
    rlp[from - 1] = 0xf7 + bytes.len() as u8;
    rlp.extend_from_slice(bytes);
    rlp[from..].rotate_right(bytes.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{address, b256};

    const ADDRESS: Address = address!("0xc000000000000000000000000000000000000000");
    const HASH: B256 = b256!("aaa8906fdcef74461dae59ad5e00417645d4965137fbfe369e5f7a184a06aff4");
    const LIST: &str = r#"[{
        "address": "0xc000000000000000000000000000000000000000",
        "storageChanges": [{"key": "0x05", "changes": [{"index": "0x1", "value": "0x07"}, {"index": "0x3", "value": "0x00"}]}],
        "storageReads": ["0x0000000000000000000000000000000000000000000000000000000000000009"],
        "balanceChanges": [{"index": "0x0", "value": "0x1"}, {"index": "0x2", "value": "0x2"}],
        "nonceChanges": [],
        "codeChanges": [{"index": "0x2", "code": "0x6001"}]
    }]"#;

    fn promised(list: &str, block_access_list_hash: B256) -> Result<Writes, Differs> {
        listed(&ListedBlock { hash: B256::ZERO, number: 7, block_access_list_hash }, list.as_bytes())
    }

    #[test]
    fn reads_what_is_the_same_list_in_other_words() {
        let same = [
            LIST.replace("0x05", "0x0000000000000000000000000000000000000000000000000000000000000005"),
            LIST.replace(r#""index": "0x1", "value": "0x07""#, r#""value":"0x7","index":"0x01""#),
            LIST.replace(r#""nonceChanges": [],"#, "").replace(r#""codeChanges""#, r#""nonceChanges" : [ ] , "codeChanges""#),
            LIST.replace(r#""codeChanges": [{"index": "0x2", "code": "0x6001"}]"#, "").replace(
                r#""address""#,
                r#""codeChanges": [{"code": "0x6001", "index": "0x2"}], "root": [{"of": ["}", null]}, -1], "address""#,
            ).replace(r#""nonceChanges": [],"#, r#""nonceChanges": []"#),
            format!("\n{LIST}\n").replace(r#""address""#, &format!(r#""deep": {}{}, "address""#, "[".repeat(100_000), "]".repeat(100_000))),
        ];
        for list in same {
            assert_eq!(promised(&list, HASH).unwrap().values.len(), 3, "{list:.600}");
        }
    }

    #[test]
    fn reads_a_number_to_its_quote_where_another_quote_is_where_a_longer_one_ends() {
        let text = format!(r#""0x{}","changes":[{{"index":"0x12345","#, "7".repeat(34));
        assert_eq!(text.as_bytes()[67], b'"');
        let mut reader = Reader { text: text.as_bytes(), rlp: Vec::new(), codes: Vec::new() };
        assert_eq!(reader.word(), U256::from_str_radix(&"7".repeat(34), 16).ok());
        assert!(reader.text.starts_with(br#","changes""#));
        for (text, value) in
            [(r#""0x""#, Some(0)), (r#""0x0102""#, Some(0x102)), (r#""0x+1""#, None), (r#""12""#, None)]
        {
            let mut reader = Reader { text: text.as_bytes(), rlp: Vec::new(), codes: Vec::new() };
            assert_eq!(reader.word(), value.map(U256::from), "{text}");
        }
    }

    #[test]
    fn takes_the_last_value_of_each() {
        let Writes { values, cleared } = promised(LIST, HASH).unwrap();
        let (hash, code) = analysed(Bytes::from([0x60, 1]));
        let expected = [
            (Read::Balance(ADDRESS), Cached::Word(U256::from(2))),
            (Read::Storage(ADDRESS, U256::from(5)), Cached::Word(U256::ZERO)),
            (Read::Code(ADDRESS), Cached::Code(hash, code)),
        ];
        assert_eq!(values, expected);
        assert!(cleared.is_empty());
    }

    #[test]
    fn refuses_what_is_not_in_ascending_order_or_there_twice() {
        let account = |address: &str, slots: &[&str]| {
            let changes: Vec<_> = slots
                .iter()
                .map(|slot| format!(r#"{{"key": "{slot}", "changes": [{{"index": "0x1", "value": "0x1"}}]}}"#))
                .collect();
            let changes = changes.join(",");
            format!(
                r#"{{"address": "0x{}{address}", "storageChanges": [{changes}], "storageReads": [], "balanceChanges": [], "nonceChanges": [], "codeChanges": []}}"#,
                "0".repeat(38)
            )
        };
        let (one, other) = (account("01", &["0x1", "0x2"]), account("02", &["0x1"]));
        let of = |list: &str| {
            let mut reader = Reader { text: list.as_bytes(), rlp: Vec::new(), codes: Vec::new() };
            let writes = reader.list();
            writes.map_or_else(|| promised(list, HASH), |_| promised(list, keccak256(&reader.rlp)))
        };
        assert_eq!(of(&format!("[{one}, {other}]")).unwrap().values.len(), 3);
        let refused = [
            format!("[{other}, {one}]"),
            format!("[{one}, {one}]"),
            format!("[{}]", account("01", &["0x2", "0x1"])),
            format!("[{}]", account("01", &["0x1", "0x01"])),
        ];
        for list in refused {
            assert!(of(&list).is_err(), "{list}");
        }
    }

    #[test]
    fn believes_no_list_but_the_one_that_the_header_promises() {
        let altered = [
            LIST.replace(r#""value": "0x2""#, r#""value": "0x3""#),
            LIST.replace(r#""0x6001""#, r#""0x6002""#),
            LIST.replace(r#""index": "0x0""#, r#""index": "0x1""#),
            LIST.replace("0009", "0008"),
            "[]".to_owned(),
            "null".to_owned(),
            "[".repeat(100_000),
            LIST.replace("nonceChanges", "nonces"),
            LIST.replace(r#""nonceChanges": []"#, r#""nonceChanges": {}"#),
            LIST.replace(r#""nonceChanges": []"#, r#""nonceChanges": [], "nonceChanges": []"#),
            LIST.replace(r#""0x07""#, "7"),
            LIST.replace("0x05", &format!("0x{}", "0".repeat(65))),
            LIST.replace("0xc0", "0x"),
            LIST.replace("}]\n", "}"),
            format!("{LIST},"),
            format!("[{LIST}]"),
            LIST.replace(r#""address""#, &format!(r#""deep": {}, "address""#, "{".repeat(1_000_000))),
        ];
        for list in altered {
            assert!(matches!(
                promised(&list, HASH),
                Err(Differs::Found { difference: Difference::BlockAccessListHash, .. })
            ));
        }
    }
}
