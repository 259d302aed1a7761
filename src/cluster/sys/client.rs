//! A librdkafka client: its life, its log lines, its metadata.

use std::ffi::{c_char, c_int, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::bindings as rd;
use rdkafka::config::ClientConfig;

use super::code::Code;
use super::copies::Copies;
use super::fault::{Fault, first_bad_property};
use crate::cluster::notices::Notices;

/// What a client is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Reads records, or is a member of a group.
    Consumer,
    /// Writes records, or asks (an admin client is a producer that produces nothing).
    Producer,
}

/// A client. All calls may come from any thread.
pub(crate) struct Client {
    raw: NonNull<rd::rd_kafka_t>,
    role: Role,
    /// The callbacks read it through the client's opaque pointer until the client is gone.
    notices: Arc<Notices>,
    /// The interceptors of a transactional producer count here until the client is gone.
    copies: Arc<Copies>,
}

// SAFETY: librdkafka's client is documented to be completely thread-safe.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

/// What a broker answered about itself and its topics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Metadata {
    /// How many brokers.
    pub brokers: usize,
    /// The topics that were asked for.
    pub topics: Vec<TopicMetadata>,
}

/// One topic of a [`Metadata`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopicMetadata {
    /// Name.
    pub name: String,
    /// How many partitions.
    pub partitions: usize,
    /// How many of them have a leader.
    pub with_leader: usize,
    /// Error of this topic.
    pub code: Code,
}

impl Client {
    /// Starts a client; `events` is a set of `RD_KAFKA_EVENT_*` that its queues show.
    pub(crate) fn start(
        role: Role,
        config: &ClientConfig,
        events: i32,
        notices: Arc<Notices>,
    ) -> Result<Arc<Client>, Fault> {
        let native = config.create_native_config().map_err(|_| {
            let name = first_bad_property(config).map_or(String::new(), |(name, _)| name);
            Fault::new(Code::INVALID_ARG, format!("property `{name}` is not accepted"))
        })?;
        let mut text = [0 as c_char; 512];
        let copies = Arc::<Copies>::default();
        let counts = config.get("transactional.id").is_some();
        // SAFETY: the configuration is live; the callbacks only use the opaques, which the client
        // keeps alive; nobody frees the configuration once `rd_kafka_new` had it.
        let raw = unsafe {
            if counts {
                Copies::attach(&copies, native.ptr())?;
            }
            // `rd_kafka_new` takes it over when it succeeds. When it fails after its copy of the struct, it
            // has freed the interceptors that ours still points to (librdkafka 2.12.1, librdkafka#4142):
            // so ours is leaked, once, in a process that cannot go on.
            let native = ManuallyDrop::new(native);
            rd::rd_kafka_conf_set_opaque(
                native.ptr(),
                Arc::as_ptr(&notices).cast::<c_void>().cast_mut(),
            );
            rd::rd_kafka_conf_set_log_cb(native.ptr(), Some(on_log));
            rd::rd_kafka_conf_set_error_cb(native.ptr(), Some(on_error));
            rd::rd_kafka_conf_set_events(native.ptr(), events);
            let kind = match role {
                Role::Consumer => rd::rd_kafka_type_t::RD_KAFKA_CONSUMER,
                Role::Producer => rd::rd_kafka_type_t::RD_KAFKA_PRODUCER,
            };
            rd::rd_kafka_new(kind, native.ptr(), text.as_mut_ptr(), text.len())
        };
        let Some(raw) = NonNull::new(raw) else {
            // SAFETY: the call has written a C string.
            return Err(Fault::new(Code::INVALID_ARG, unsafe { super::text(text.as_ptr()) }));
        };
        let client = Arc::new(Client { raw, role, notices, copies });
        if counts && !client.copies.is_counting() {
            return Err(Fault::new(Code::INVALID_ARG, "the client cannot count its requests"));
        }
        Ok(client)
    }

    /// Where its log lines and errors go.
    pub(crate) fn notices(&self) -> &Notices {
        &self.notices
    }

    /// How often it has sent the requests that end a transaction; only a transactional producer counts.
    pub(crate) fn copies(&self) -> &Copies {
        &self.copies
    }

    /// For C calls.
    pub(super) fn raw(&self) -> *mut rd::rd_kafka_t {
        self.raw.as_ptr()
    }

    /// Serves errors that wait on the main queue (they go to the notices); does not wait.
    pub(crate) fn serve(&self) {
        // SAFETY: a live client.
        unsafe { rd::rd_kafka_poll(self.raw(), 0) };
    }

    /// The error after which this client can do nothing any more.
    pub(crate) fn fatal_error(&self) -> Option<Fault> {
        let mut text = [0 as c_char; 512];
        type AsEnum = unsafe extern "C" fn(
            *mut rd::rd_kafka_t,
            *mut c_char,
            usize,
        ) -> rd::rd_kafka_resp_err_t;
        type AsInt = unsafe extern "C" fn(*mut rd::rd_kafka_t, *mut c_char, usize) -> c_int;
        // SAFETY: same C signature (a C enum is an int); live client, buffer of the told size.
        let (code, text) = unsafe {
            let ask = std::mem::transmute::<AsEnum, AsInt>(rd::rd_kafka_fatal_error);
            let code = Code(ask(self.raw(), text.as_mut_ptr(), text.len()));
            (code, super::text(text.as_ptr()))
        };
        (!code.is_ok()).then(|| Fault { fatal: true, ..Fault::new(code, text) })
    }

    /// Asks a broker for metadata: of all topics, or only of the brokers.
    pub(crate) fn metadata(&self, all_topics: bool, wait: Duration) -> Result<Metadata, Fault> {
        let mut answer: *const rd::rd_kafka_metadata = std::ptr::null();
        // SAFETY: a live client; the answer is ours to destroy.
        let code = Code::from(unsafe {
            rd::rd_kafka_metadata(
                self.raw(),
                c_int::from(all_topics),
                std::ptr::null_mut(),
                &raw mut answer,
                super::millis(wait),
            )
        });
        Fault::check(code)?;
        // SAFETY: the call succeeded, so the answer is set; it is destroyed after the copy.
        let metadata = unsafe {
            let metadata = read_metadata(&*answer);
            rd::rd_kafka_metadata_destroy(answer);
            metadata
        };
        Ok(metadata)
    }

    /// The cluster's id; none where no broker told it within the time, or it has none.
    pub(crate) fn cluster_id(&self, wait: Duration) -> Option<String> {
        // SAFETY: a live client; the string is ours and freed with the library's own allocator.
        unsafe {
            let raw = rd::rd_kafka_clusterid(self.raw(), super::millis(wait));
            if raw.is_null() {
                return None;
            }
            let id = super::text(raw);
            rd::rd_kafka_mem_free(self.raw(), raw.cast());
            Some(id)
        }
    }

    /// Ends the client on a thread of its own: ending one joins its threads, and one of them may be
    /// waiting for a name server.
    pub(crate) fn end_elsewhere(self: Arc<Client>) {
        let ending = std::thread::Builder::new().name("client-end".into());
        // Without a thread to spare it ends here.
        drop(ending.spawn(move || drop(self)));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A closing consumer waits for rebalance callbacks that nobody serves any more; members
        // leave their group before they come here.
        let flags = match self.role {
            Role::Consumer => rd::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE,
            Role::Producer => 0,
        };
        // SAFETY: the last owner; queues, topics and messages keep an `Arc` of the client, so none
        // is left.
        unsafe { rd::rd_kafka_destroy_flags(self.raw(), flags) };
    }
}

/// Copies what we use of a metadata answer.
///
/// # Safety
/// `raw` is a live answer.
unsafe fn read_metadata(raw: &rd::rd_kafka_metadata) -> Metadata {
    let topics = (0..usize::try_from(raw.topic_cnt).unwrap_or(0)).map(|index| {
        // SAFETY: indexes below the counts of a live answer.
        unsafe {
            let topic = raw.topics.add(index);
            let partitions = usize::try_from((*topic).partition_cnt).unwrap_or(0);
            let with_leader =
                (0..partitions).filter(|&p| (*(*topic).partitions.add(p)).leader >= 0).count();
            TopicMetadata {
                name: super::text((*topic).topic),
                partitions,
                with_leader,
                code: Code::read(&raw const (*topic).err),
            }
        }
    });
    Metadata { brokers: usize::try_from(raw.broker_cnt).unwrap_or(0), topics: topics.collect() }
}

/// Log lines, from any thread of the client.
unsafe extern "C" fn on_log(
    client: *const rd::rd_kafka_t,
    level: c_int,
    facility: *const c_char,
    line: *const c_char,
) {
    if client.is_null() {
        return;
    }
    // SAFETY: the opaque is the `Notices` that the client keeps alive; the strings live during the call.
    unsafe {
        let notices = rd::rd_kafka_opaque(client).cast::<Notices>();
        if let Some(notices) = notices.as_ref() {
            notices.log(level, &super::text(facility), &super::text(line));
        }
    }
}

/// Errors that belong to no call, from whoever serves the client.
unsafe extern "C" fn on_error(
    _client: *mut rd::rd_kafka_t,
    code: c_int,
    reason: *const c_char,
    opaque: *mut c_void,
) {
    // SAFETY: the opaque is the `Notices` that the client keeps alive; the string lives during the call.
    unsafe {
        if let Some(notices) = opaque.cast::<Notices>().as_ref() {
            notices.error(Code(code), &super::text(reason));
        }
    }
}
