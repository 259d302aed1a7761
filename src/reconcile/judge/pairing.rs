//! Pairing by an equal key: the one algorithm under all matching.

/// Pairs items of `left` and `right` whose keys are equal, the first with the first and so on; an item
/// with the key `None` is not paired. What is not paired stays, in its order. Sorts, and allocates nothing.
pub(super) fn meet<L: Copy + Ord, R: Copy + Ord, K: Ord>(
    left: &mut Vec<L>,
    right: &mut Vec<R>,
    left_key: impl Fn(L) -> Option<K>,
    right_key: impl Fn(R) -> Option<K>,
    mut pair: impl FnMut(L, R),
) {
    if left.is_empty() || right.is_empty() {
        return;
    }
    left.sort_unstable_by(|a, b| left_key(*a).cmp(&left_key(*b)).then(a.cmp(b)));
    right.sort_unstable_by(|a, b| right_key(*a).cmp(&right_key(*b)).then(a.cmp(b)));
    let (mut l, mut r) = (0, 0);
    let (mut left_kept, mut right_kept) = (0, 0);
    while l < left.len() || r < right.len() {
        let key_of_left = left.get(l).map(|item| left_key(*item));
        let key_of_right = right.get(r).map(|item| right_key(*item));
        let (take_left, take_right) = match (&key_of_left, &key_of_right) {
            (Some(a), Some(b)) if a == b && a.is_some() => {
                pair(left[l], right[r]);
                l += 1;
                r += 1;
                continue;
            }
            (Some(a), Some(b)) => (a <= b, a > b),
            (left, right) => (left.is_some(), right.is_some()),
        };
        if take_left {
            left[left_kept] = left[l];
            left_kept += 1;
            l += 1;
        }
        if take_right {
            right[right_kept] = right[r];
            right_kept += 1;
            r += 1;
        }
    }
    left.truncate(left_kept);
    right.truncate(right_kept);
    left.sort_unstable();
    right.sort_unstable();
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn equal_keys_meet_in_order_and_the_rest_stays(
            left in prop::collection::vec(prop::option::of(0u8..4), 0..9),
            right in prop::collection::vec(prop::option::of(0u8..4), 0..9),
        ) {
            let (mut l, mut r): (Vec<usize>, Vec<usize>) = ((0..left.len()).collect(), (0..right.len()).collect());
            let mut pairs = Vec::new();
            meet(&mut l, &mut r, |i| left[i], |i| right[i], |i, j| pairs.push((i, j)));
            // Naively: each item takes the first free one with its key.
            let mut free: Vec<usize> = (0..right.len()).collect();
            let mut expected = Vec::new();
            let mut alone = Vec::new();
            for (i, key) in left.iter().enumerate() {
                match free.iter().position(|j| key.is_some() && *key == right[*j]) {
                    Some(at) => expected.push((i, free.remove(at))),
                    None => alone.push(i),
                }
            }
            pairs.sort_unstable();
            prop_assert_eq!(pairs, expected);
            prop_assert_eq!((l, r), (alone, free));
        }
    }
}
