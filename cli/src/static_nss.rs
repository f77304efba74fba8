//! Names of hosts and users in a static binary.
//!
//! The C library finds them by modules that `/etc/nsswitch.conf` lists, and loads those from the machine it
//! runs on: into a binary that has another C library in it, they crash. A static binary uses what it has.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod modules {
    use std::ffi::{CStr, c_char, c_int};

    unsafe extern "C" {
        /// GNU's C library, `<nss.h>`: how a kind of names is found by this process from now on.
        fn __nss_configure_lookup(kind: *const c_char, modules: *const c_char) -> c_int;
    }

    /// The kinds that are looked up here, with the modules that are in the C library itself.
    const BUILT_IN: [(&CStr, &CStr); 3] = [
        (c"passwd", c"files"),
        (c"group", c"files"),
        (c"hosts", c"files dns"),
    ];

    pub(super) fn use_built_in() -> bool {
        BUILT_IN.iter().all(|(kind, modules)| {
            // SAFETY: both are strings that end with a zero and live forever; nothing was looked up yet, and
            // no other thread runs.
            unsafe { __nss_configure_lookup(kind.as_ptr(), modules.as_ptr()) == 0 }
        })
    }

    #[cfg(test)]
    mod tests {
        use std::net::ToSocketAddrs;

        #[test]
        fn the_c_library_knows_the_kinds_and_the_modules() {
            assert!(super::use_built_in());
            let found = "localhost:1".to_socket_addrs().unwrap().next();
            assert!(found.unwrap().ip().is_loopback());
        }
    }
}

/// Keeps a static binary from loading anything; first of all, before another thread runs.
pub(crate) fn stand_alone() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if cfg!(target_feature = "crt-static") {
        // It refuses only what the C library does not know, and the test above sees that it knows these.
        let _ = modules::use_built_in();
    }
}
