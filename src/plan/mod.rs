//! WHAT to move: the plan file, topic selection and naming, lanes. Pure: nothing here touches the network.

mod partition;

pub use partition::TopicPartition;
