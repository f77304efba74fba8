//! Whole blocks with known answers.

use kazoe_common::census::{Arm, Campaign, Counter, Outcome};
use kazoe_common::game::Variant;
use kazoe_testkit::tables::table;

#[test]
fn blocks_have_their_known_counts_and_digests() {
    for row in table("block-digests.tsv") {
        let variant = Variant::by_id(&row[0]).expect("a variant");
        let numbers: Vec<u64> = row[1..11]
            .iter()
            .map(|n| n.parse().expect("a number"))
            .collect();
        let campaign = Campaign::new(variant, numbers[0]);
        for arm in Arm::available() {
            let counter = Counter::with_arm(&campaign, arm).expect("tables");
            let counted = counter.block(numbers[1], numbers[2]).tally;
            for (outcome, &count) in Outcome::ALL.into_iter().zip(&numbers[3..]) {
                assert_eq!(
                    counted.of(outcome),
                    count,
                    "{outcome} of {row:?}, arm {arm}"
                );
            }
            assert_eq!(counted.digest.to_string(), row[11], "{row:?}, arm {arm}");
            counted.check(numbers[2]).expect("a tally");
        }
    }
}
