# Run by nbdsh, which sets `h`; `uri` is where the volume is served, writable, with one export called "home".
# Prints a line for each thing that was checked, and stops at the first that is not so.
import socket
import struct
import urllib.parse

import nbd

path = urllib.parse.parse_qs(urllib.parse.urlparse(uri).query)["socket"][0]


def check(what, is_so):
    if not is_so:
        raise SystemExit("not so: " + what)
    print("ok: " + what)


def error(function, *arguments, **named):
    """The error that a command gets, by name; None if it succeeds."""
    try:
        function(*arguments, **named)
    except nbd.Error as failed:
        return failed.errno or failed.string
    return None


def connect(structured=True, context=True):
    new = nbd.NBD()
    new.set_strict_mode(0)
    new.set_request_structured_replies(structured)
    if context:
        new.add_meta_context(nbd.CONTEXT_BASE_ALLOCATION)
    new.connect_unix(path)
    return new


FUA, NO_HOLE, DF, REQ_ONE, FAST_ZERO, UNKNOWN = 1, 2, 4, 8, 16, 1 << 9

# Flags: each command with each of them.
h = connect()
size = h.get_size()
check("what is offered", h.can_flush() and h.can_fua() and h.can_cache() and h.can_trim() and h.can_zero()
      and h.can_fast_zero() and h.can_multi_conn() and h.can_df() and not h.is_read_only() and not h.is_rotational())
check("block sizes", h.get_block_size(nbd.SIZE_MINIMUM) == 512)
commands = {
    "read": (lambda flags: h.pread(4096, 0, flags), {DF}),
    "write": (lambda flags: h.pwrite(b"x" * 4096, 0, flags), set()),
    "flush": (lambda flags: h.flush(flags), set()),
    "trim": (lambda flags: h.trim(4096, 0, flags), set()),
    "cache": (lambda flags: h.cache(4096, 0, flags), set()),
    "zero": (lambda flags: h.zero(4096, 0, flags), {NO_HOLE, FAST_ZERO}),
    "block status": (lambda flags: h.block_status(4096, 0, lambda *_: 0, flags), {REQ_ONE}),
}
h.zero(4096, 0)
for name, (command, own) in commands.items():
    for flag in [0, FUA, NO_HOLE, DF, REQ_ONE, UNKNOWN]:
        expected = None if flag in own | {0, FUA} else "EINVAL"
        check(f"{name} with flags {flag:#x}", error(command, flag) == expected)
    if FAST_ZERO not in own:
        check(f"{name} with flags {FAST_ZERO:#x}", error(command, FAST_ZERO) == "EINVAL")
# What was written has to be overwritten somewhere; what was not is zero already.
h.pwrite(b"x" * 4096, 0)
check("fast zeroes over data", error(h.zero, 4096, 0, FAST_ZERO) == "ENOTSUP")
h.trim(1 << 20, 0)
check("a trim leaves zeroes", h.pread(4096, 0) == bytes(4096))
check("zeroes without a hole are not fast", error(h.zero, 4096, 0, FAST_ZERO | NO_HOLE) == "ENOTSUP")
check("fast zeroes over a hole", error(h.zero, 4096, 0, FAST_ZERO) is None)

# Ranges: none, too long, beyond the end, not whole sectors.
ranges = {
    "read": (lambda count, at: h.pread(count, at), "EINVAL"),
    "write": (lambda count, at: h.pwrite(b"x" * count, at), "ENOSPC"),
    "trim": (lambda count, at: h.trim(count, at), "EINVAL"),
    "cache": (lambda count, at: h.cache(count, at), "EINVAL"),
    "zero": (lambda count, at: h.zero(count, at), "ENOSPC"),
    "block status": (lambda count, at: h.block_status(count, at, lambda *_: 0), "EINVAL"),
}
for name, (command, beyond) in ranges.items():
    check(f"{name} of nothing", error(command, 0, 0) == "EINVAL")
    check(f"{name} beyond the end", error(command, 4096, size) == beyond)
    check(f"{name} over the end", error(command, 4096, size - 512) == beyond)
    check(f"{name} of parts of sectors", error(command, 100, 0) == "EINVAL")
    check(f"{name} between sectors", error(command, 512, 100) == "EINVAL")
    check(f"{name} at the very end", error(command, 512, size - 512) is None)
check("a read of more than the maximum", error(h.pread, 33 << 20, 0) == "EOVERFLOW")
check("the connection goes on", h.pread(512, 0) == bytes(512))

# Replies: in pieces, in one piece, simple ones.
h.pwrite(b"a" * 4096, 64 << 10)
pieces = []
h.pread_structured(16 << 10, 64 << 10, lambda data, at, kind, error: pieces.append((len(data), at - (64 << 10), kind)))
check(f"a read with structured replies: {pieces}", sum(length for length, _, _ in pieces) == 16 << 10)
pieces.clear()
h.pread_structured(16 << 10, 64 << 10, lambda data, at, kind, error: pieces.append(kind), DF)
check("a read in one piece", pieces == [nbd.READ_DATA])
extents = []
h.block_status(1 << 20, 64 << 10, lambda context, at, entries, error: extents.append((context, entries)))
check("extents", extents[0][0] == "base:allocation" and extents[0][1][:4] == [4096, 0, (1 << 20) - 4096, 3])
extents.clear()
h.block_status(1 << 20, 64 << 10, lambda context, at, entries, error: extents.append(entries), REQ_ONE)
check("one extent", extents == [[4096, 0]])
h.shutdown()
h = connect(context=False)
check("block status without a context", error(commands["block status"][0], 0) == "EINVAL")
h.shutdown()
h = connect(structured=False, context=False)
check("simple replies", not h.can_df() and h.pread(4096, 64 << 10) == b"a" * 4096)
check("simple: one piece", error(h.pread, 4096, 0, DF) == "EINVAL")
check("simple: more than the maximum", error(h.pread, 33 << 20, 0) == "EINVAL")
h.shutdown()

# Options through libnbd.
h = nbd.NBD()
h.set_opt_mode(True)
h.connect_unix(path)
names = []
h.opt_list(lambda name, description: names.append((name, description.startswith("esker volume "))))
check("the list of exports", names == [("home", True)])
h.set_export_name("tape")
check("information of an unknown export", error(h.opt_info) == "ENOENT")
check("an unknown export", error(h.opt_go) == "ENOENT")
h.set_export_name("home")
h.set_full_info(True)
h.opt_info()
check("information", h.get_size() == size and h.get_export_description().startswith("esker volume "))
check("the name of the export", h.get_canonical_export_name() == "home")
contexts = []
h.opt_list_meta_context(contexts.append)
h.add_meta_context("base:")
h.opt_list_meta_context(contexts.append)
check("the list of contexts", contexts == ["base:allocation"] * 2)
h.clear_meta_contexts()
h.add_meta_context("other:thing")
h.opt_go()
check("contexts of others", not h.can_meta_context("other:thing"))
h.shutdown()
h = nbd.NBD()
h.set_opt_mode(True)
h.connect_unix(path)
h.opt_abort()
check("options that are given up", h.aio_is_closed())

# Options byte by byte, with those that libnbd does not send.
ACK, SERVER, INFO, META = 1, 2, 3, 4
UNSUP, POLICY, INVALID, UNKNOWN_EXPORT, TOO_BIG = [number | 1 << 31 for number in (1, 2, 3, 6, 9)]


class Raw:
    def __init__(self, flags=3):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        check_quietly(self.take(16) == b"NBDMAGICIHAVEOPT" and self.take(2) == b"\0\3")
        self.socket.sendall(struct.pack(">I", flags))

    def take(self, count):
        data = b""
        while len(data) < count:
            more = self.socket.recv(count - len(data))
            if not more:
                return None
            data += more
        return data

    def option(self, number, data=b""):
        """Sends an option. Returns the types of all replies to it."""
        self.socket.sendall(struct.pack(">8sII", b"IHAVEOPT", number, len(data)) + data)
        kinds = []
        while not kinds or kinds[-1] in (SERVER, INFO, META):
            header = self.take(20)
            if header is None:
                return kinds + ["end"]
            magic, option, kind, length = struct.unpack(">QIII", header)
            check_quietly(magic == 0x3e889045565a9 and option == number)
            self.take(length)
            kinds.append(kind)
        return kinds


def check_quietly(is_so):
    assert is_so


def string(text):
    return struct.pack(">I", len(text)) + text


raw = Raw()
for name, number, data, expected in [
    ("PEEK_EXPORT", 4, b"", [UNSUP]),
    ("STARTTLS", 5, b"", [POLICY]),
    ("EXTENDED_HEADERS", 11, b"", [UNSUP]),
    ("an unknown option", 4711, b"abc", [UNSUP]),
    ("LIST", 3, b"", [SERVER, ACK]),
    ("LIST with data", 3, b"x", [INVALID]),
    ("SET_META_CONTEXT before structured replies", 10, string(b"") + struct.pack(">I", 0), [INVALID]),
    ("LIST_META_CONTEXT before structured replies", 9, string(b"") + struct.pack(">I", 0), [INVALID]),
    ("STRUCTURED_REPLY with data", 8, b"x", [INVALID]),
    ("STRUCTURED_REPLY", 8, b"", [ACK]),
    ("LIST_META_CONTEXT", 9, string(b"") + struct.pack(">I", 0), [META, ACK]),
    ("SET_META_CONTEXT", 10, string(b"home") + struct.pack(">I", 1) + string(b"base:allocation"), [META, ACK]),
    ("SET_META_CONTEXT of an unknown export", 10, string(b"tape") + struct.pack(">I", 0), [UNKNOWN_EXPORT]),
    ("a query without a colon", 10, string(b"") + struct.pack(">I", 1) + string(b"base"), [INVALID]),
    ("INFO", 6, string(b"") + struct.pack(">H", 0), [INFO, INFO, ACK]),
    ("INFO of everything", 6, string(b"") + struct.pack(">HHHHH", 4, 1, 2, 3, 99), [INFO] * 4 + [ACK]),
    ("INFO that is malformed", 6, b"x", [INVALID]),
    ("GO to an unknown export", 7, string(b"tape") + struct.pack(">H", 0), [UNKNOWN_EXPORT]),
    ("an option of more than 16 KiB", 3, bytes(16385), [TOO_BIG]),
    ("ABORT", 2, b"whatever", [ACK]),
]:
    found = raw.option(number, data)
    check(f"{name}: {found}", found == expected)
check("after ABORT the server leaves", raw.take(1) is None)
raw = Raw()
check("EXPORT_NAME of an unknown export", raw.option(1, b"tape") == ["end"])
raw = Raw(flags=1)
raw.socket.sendall(struct.pack(">8sII", b"IHAVEOPT", 1, 0))
check("EXPORT_NAME with zeroes", struct.unpack(">Q", raw.take(134)[:8])[0] == size)

# Requests byte by byte: those that libnbd does not send.


def ask(raw, command, length=0, magic=0x25609513):
    """Sends a request. Returns the error of the simple reply to it; None if the server leaves."""
    raw.socket.sendall(struct.pack(">IHHQQI", magic, 0, command, 7, 0, length))
    reply = raw.take(16)
    return reply and struct.unpack(">IIQ", reply)[1]


EINVAL = 22
check("RESIZE", ask(raw, 8) == EINVAL)
check("an unknown command", ask(raw, 77, 512) == EINVAL)
check("a flush with a length", ask(raw, 3, 512) == EINVAL)
check("a flush", ask(raw, 3) == 0)
check("what is no request ends the connection", ask(raw, 3, magic=1) is None)
raw = Raw()
raw.socket.sendall(struct.pack(">8sII", b"IHAVEOPT", 1, 0))
raw.take(10)
check("a write of more than 32 MiB ends the connection", ask(raw, 1, 33 << 20) is None)
check("the flags of a client that are unknown end the connection", Raw(flags=0x10).take(1) is None)
print("all checks were made")
