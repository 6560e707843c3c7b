//! The functions that would have been called without this library.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The next function of a name in the order of libraries: that of the C library.
pub(crate) struct Next {
    name: &'static str,
    found: AtomicPtr<c_void>,
}

impl Next {
    /// `name` ends in a zero byte.
    pub(crate) const fn new(name: &'static str) -> Next {
        Next { name, found: AtomicPtr::new(null_mut()) }
    }

    /// Its address.
    pub(crate) fn address(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the name ends in a zero byte.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr().cast()) };
        if found.is_null() {
            // A program calls a function that its own C library does not have.
            std::process::abort();
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Replaces functions of the C library. Each is given by its names, what it takes and returns, and a body, in which the
/// function after `or` calls the one that is replaced, with the same arguments.
///
/// The names that take more than the arguments given (`open`, `fcntl`) pass them as if there were no more: the
/// conventions of calls on Linux let them.
macro_rules! replace {
    ($( [$($name:ident),+] $arguments:tt -> $ret:ty, or $next:ident $body:block )+) => {
        $($( $crate::next::replace! { @one $name $arguments -> $ret, or $next $body } )+)+
    };
    (@one $name:ident ($($arg:ident: $type:ty),* $(,)?) -> $ret:ty, or $next:ident $body:block) => {
        #[doc = concat!("Replaces `", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the C library says.
        #[unsafe(no_mangle)]
        #[allow(unused_variables, reason = "some are only passed on")]
        pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> $ret {
            static NEXT: $crate::next::Next = $crate::next::Next::new(concat!(stringify!($name), "\0"));
            let $next = || -> $ret {
                // SAFETY: the function of this name takes these, and the caller vouches for what they are.
                unsafe {
                    let address = NEXT.address();
                    let next = std::mem::transmute::<*mut std::ffi::c_void, unsafe extern "C" fn($($type),*) -> $ret>(
                        address,
                    );
                    next($($arg),*)
                }
            };
            $body
        }
    };
}

pub(crate) use replace;
