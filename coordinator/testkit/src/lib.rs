//! What tests of the coordinator and of the program `kazoe` need: a [PostgreSQL server](postgres_server), a
//! [proxy](postgres_proxy) before it that loses commits, small [file systems](mounts), a
//! [cluster of processes](test_cluster), a [worker that obeys the test](scripted_worker), [certificates] and an
//! [HTTP/2 client](raw_http2) that breaks the rules.

pub mod certificates;
pub mod mounts;
pub mod postgres_proxy;
pub mod postgres_server;
pub mod raw_http2;
pub mod scripted_worker;
pub mod test_cluster;
