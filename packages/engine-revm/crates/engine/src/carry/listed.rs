use super::difference::{Difference, Differs, unless_same};
use crate::{
    access_list::{ListedAccount, ListedChange, list_hash},
    state::{AccountChange, analysed},
};
use alloy_primitives::{B256, map::AddressMap};

/// A sealed block that is carried by its access list (EIP-7928).
#[derive(Clone, Debug)]
pub struct ListedBlock {
    pub hash: B256,
    pub number: u64,
    /// In its header.
    pub block_access_list_hash: B256,
    /// JSON, as `eth_getBlockAccessList` answers.
    pub access_list: String,
}

/// What the block changes, as its list says. A list whose hash is not the header's says nothing.
pub fn listed(block: &ListedBlock) -> Result<AddressMap<AccountChange>, Differs> {
    // Why it is none would quote the node.
    let list: Vec<ListedAccount> = serde_json::from_str(&block.access_list).map_err(|_| Differs::Found {
        difference: Difference::BlockAccessListHash,
        detail: "not an access list".to_owned(),
    })?;
    unless_same(Difference::BlockAccessListHash, list_hash(&list), block.block_access_list_hash)?;
    Ok(list.into_iter().map(|account| (account.address, last_values(account))).collect())
}

/// Changes come in the order of the block. No account is cleared: one that has storage is never made anew (EIP-7610), and one that is
/// destroyed was made by the same transaction (EIP-6780), whose writes the list does not have then.
fn last_values(account: ListedAccount) -> AccountChange {
    let last = |changes: &[ListedChange]| changes.last().map(|change| change.value.0);
    let slots = account.storage_changes.iter();
    AccountChange {
        balance: last(&account.balance_changes),
        nonce: last(&account.nonce_changes).map(|nonce| nonce.saturating_to()),
        storage: slots.filter_map(|slot| Some((slot.key.0, last(&slot.changes)?))).collect(),
        code: account.code_changes.into_iter().next_back().map(|change| analysed(change.code)),
        ..AccountChange::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_primitives::{Address, U256, address};

    const ADDRESS: Address = address!("0xc000000000000000000000000000000000000000");
    const LIST: &str = r#"[{
        "address": "0xc000000000000000000000000000000000000000",
        "storageChanges": [{"key": "0x05", "changes": [{"index": "0x1", "value": "0x07"}, {"index": "0x3", "value": "0x00"}]}],
        "storageReads": ["0x0000000000000000000000000000000000000000000000000000000000000009"],
        "balanceChanges": [{"index": "0x0", "value": "0x1"}, {"index": "0x2", "value": "0x2"}],
        "nonceChanges": [],
        "codeChanges": [{"index": "0x2", "code": "0x6001"}]
    }]"#;

    fn promised(list: &str) -> ListedBlock {
        ListedBlock {
            hash: B256::ZERO,
            number: 7,
            block_access_list_hash: list_hash(&serde_json::from_str::<Vec<ListedAccount>>(LIST).unwrap()),
            access_list: list.to_owned(),
        }
    }

    #[test]
    fn takes_the_last_value_of_each() {
        let changes = listed(&promised(LIST)).unwrap();
        let AccountChange { balance, nonce, code, storage, storage_cleared, exists } = &changes[&ADDRESS];
        assert_eq!((changes.len(), *balance, *nonce), (1, Some(U256::from(2)), None));
        assert_eq!(code.as_ref().unwrap().1.original_byte_slice(), [0x60, 1]);
        assert_eq!(storage.iter().collect::<Vec<_>>(), [(&U256::from(5), &U256::ZERO)]);
        assert!(!storage_cleared && !exists);
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
        ];
        for list in altered {
            assert!(matches!(
                listed(&promised(&list)),
                Err(Differs::Found { difference: Difference::BlockAccessListHash, .. })
            ));
        }
    }
}
