//! Functions with any number of arguments. They are left as they came, around a call that leaves files to the kernel.

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use crate::leaving::{leave_descriptor, leave_inherited};
    use crate::next::Next;
    use std::ffi::{c_char, c_int, c_void};

    static DPRINTF: Next = Next::new("dprintf\0");
    static DPRINTF_CHECKED: Next = Next::new("__dprintf_chk\0");
    static EXECL: Next = Next::new("execl\0");
    static EXECLP: Next = Next::new("execlp\0");
    static EXECLE: Next = Next::new("execle\0");

    extern "C" fn before_print(fd: c_int) -> *mut c_void {
        leave_descriptor(fd);
        DPRINTF.address()
    }

    extern "C" fn before_checked_print(fd: c_int) -> *mut c_void {
        leave_descriptor(fd);
        DPRINTF_CHECKED.address()
    }

    extern "C" fn before_execl() -> *mut c_void {
        leave_inherited();
        EXECL.address()
    }

    extern "C" fn before_execlp() -> *mut c_void {
        leave_inherited();
        EXECLP.address()
    }

    extern "C" fn before_execle() -> *mut c_void {
        leave_inherited();
        EXECLE.address()
    }

    /// Functions that save all registers of arguments, call another that answers with an address, and go on there with
    /// the registers as they were.
    macro_rules! pass_on {
        ($( $name:ident ($($arg:ident: $type:ty),*) after $before:ident; )+) => {$(
            #[doc = concat!("Replaces `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As the C library says.
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            pub(crate) unsafe extern "C" fn $name($($arg: $type),*) -> c_int {
                std::arch::naked_asm!(
                    "push rbp",
                    "mov rbp, rsp",
                    "push rdi",
                    "push rsi",
                    "push rdx",
                    "push rcx",
                    "push r8",
                    "push r9",
                    "push rax",
                    "sub rsp, 136",
                    "movups [rsp], xmm0",
                    "movups [rsp + 16], xmm1",
                    "movups [rsp + 32], xmm2",
                    "movups [rsp + 48], xmm3",
                    "movups [rsp + 64], xmm4",
                    "movups [rsp + 80], xmm5",
                    "movups [rsp + 96], xmm6",
                    "movups [rsp + 112], xmm7",
                    "call {before}",
                    "mov r11, rax",
                    "movups xmm0, [rsp]",
                    "movups xmm1, [rsp + 16]",
                    "movups xmm2, [rsp + 32]",
                    "movups xmm3, [rsp + 48]",
                    "movups xmm4, [rsp + 64]",
                    "movups xmm5, [rsp + 80]",
                    "movups xmm6, [rsp + 96]",
                    "movups xmm7, [rsp + 112]",
                    "add rsp, 136",
                    "pop rax",
                    "pop r9",
                    "pop r8",
                    "pop rcx",
                    "pop rdx",
                    "pop rsi",
                    "pop rdi",
                    "pop rbp",
                    "jmp r11",
                    before = sym $before,
                )
            }
        )+};
    }

    pass_on! {
        dprintf(fd: c_int, format: *const c_char) after before_print;
        __dprintf_chk(fd: c_int, flag: c_int, format: *const c_char) after before_checked_print;
        execl(path: *const c_char, argument: *const c_char) after before_execl;
        execlp(path: *const c_char, argument: *const c_char) after before_execlp;
        execle(path: *const c_char, argument: *const c_char) after before_execle;
    }
}
