//! What a hybrid moved, in words.

use esker_core::words;
use esker_results::{PlacementReport, TokenReport};

/// One line for what was moved, if anything was, and one for the tokens of policies that have them.
pub(super) fn describe(placement: &PlacementReport) -> String {
    let counted = |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", words::count(count)));
    let moved = (placement.moved_extents > 0).then(|| {
        let (moved, copied) = (words::bytes(placement.moved_bytes as f64), words::bytes(placement.copied_bytes as f64));
        format!("{} extents moved ({moved}; {copied} copied)", words::count(placement.moved_extents))
    });
    let mirrored = (placement.mirrored_extents > 0).then(|| {
        let extents = words::count(placement.mirrored_extents);
        let reads = words::count(placement.mirror_reads);
        let bytes = words::bytes(placement.mirrored_bytes as f64);
        format!("{extents} extents copied to a second place ({bytes}), which has answered {reads} reads")
    });
    let parts = [
        moved,
        mirrored,
        counted(placement.redirected_writes, "writes redirected"),
        counted(placement.merged_writes, "of them with the rest of their extent"),
        counted(placement.abandoned_moves, "moves given up"),
        counted(placement.freed_extents, "extents freed"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut text = if parts.is_empty() { String::new() } else { format!("\n  {}", parts.join(", ")) };
    if let Some(TokenReport { granted, new_extents, moves, redirects, lapsed }) = placement.tokens {
        text += &format!("\n  {} tokens", words::count(granted));
        let spent = [
            counted(new_extents, "for new extents"),
            counted(moves, "for moves"),
            counted(redirects, "for redirected writes"),
            counted(lapsed, "lapsed"),
        ];
        let spent: Vec<String> = spent.into_iter().flatten().collect();
        text += &if spent.is_empty() { String::new() } else { format!(": {}", spent.join(", ")) };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_moved_and_what_became_of_tokens_is_told() {
        let mut placement = PlacementReport::default();
        assert_eq!(describe(&placement), "");
        (placement.moved_extents, placement.moved_bytes, placement.copied_bytes) = (20, 20 << 20, 18 << 20);
        placement.redirected_writes = 7;
        assert_eq!(describe(&placement), "\n  20 extents moved (20 MiB; 18 MiB copied), 7 writes redirected");
        (placement.mirrored_extents, placement.mirrored_bytes, placement.mirror_reads) = (3, 3 << 20, 12_345);
        assert!(describe(&placement).ends_with(
            " copied), 3 extents copied to a second place (3 MiB), which has answered 12 345 reads, 7 writes redirected"
        ));
        let placement = PlacementReport {
            abandoned_moves: 2,
            tokens: Some(TokenReport { granted: 12_345, new_extents: 12_000, moves: 300, redirects: 0, lapsed: 40 }),
            ..PlacementReport::default()
        };
        assert_eq!(
            describe(&placement),
            "\n  2 moves given up\n  12 345 tokens: 12 000 for new extents, 300 for moves, 40 lapsed"
        );
        let unused = PlacementReport { tokens: Some(TokenReport::default()), ..PlacementReport::default() };
        assert_eq!(describe(&unused), "\n  0 tokens");
    }
}
