"""Every system call of Linux, whether a worker may make it, and how to make one by number.

Reviewed up to Linux 6.19. Each name has its number on x86_64 and on aarch64 (-1: it has no such
call). A call that is not listed is answered as by an old kernel: there is no such call.
"""

from __future__ import annotations

import ctypes
import os

Numbers = tuple[int, int]

ALLOWED: dict[str, Numbers] = {
    # memory of its own
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214),
    "mremap": (25, 216), "msync": (26, 227), "mincore": (27, 232), "madvise": (28, 233),
    "mlock": (149, 228), "munlock": (150, 229), "mlockall": (151, 230), "munlockall": (152, 231),
    "mlock2": (325, 284), "remap_file_pages": (216, 234), "memfd_create": (319, 279),
    "membarrier": (324, 283), "pkey_mprotect": (329, 288), "pkey_alloc": (330, 289),
    "pkey_free": (331, 290), "map_shadow_stack": (453, 453), "mseal": (462, 462),
    "mbind": (237, 235), "set_mempolicy": (238, 237), "get_mempolicy": (239, 236),
    "set_mempolicy_home_node": (450, 450),
    # threads, processes as such, and the end of both
    "sched_yield": (24, 124), "sched_getparam": (143, 121), "sched_getscheduler": (145, 120),
    "sched_get_priority_max": (146, 125), "sched_get_priority_min": (147, 126),
    "sched_rr_get_interval": (148, 127), "sched_getaffinity": (204, 123),
    "sched_getattr": (315, 275), "getpriority": (140, 141), "ioprio_get": (252, 31),
    "futex": (202, 98), "futex_waitv": (449, 449), "futex_wake": (454, 454),
    "futex_wait": (455, 455), "futex_requeue": (456, 456), "set_tid_address": (218, 96),
    "set_robust_list": (273, 99), "rseq": (334, 293), "arch_prctl": (158, -1),
    "getcpu": (309, 168), "gettid": (186, 178), "getpid": (39, 172), "getppid": (110, 173),
    "getpgrp": (111, -1), "getpgid": (121, 155), "getsid": (124, 156), "wait4": (61, 260),
    "waitid": (247, 95), "exit": (60, 93), "exit_group": (231, 94), "restart_syscall": (219, 128),
    "uretprobe": (335, -1), "uprobe": (336, -1),
    # signals to itself
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136), "rt_sigtimedwait": (128, 137), "rt_sigsuspend": (130, 133),
    "sigaltstack": (131, 132), "pause": (34, -1), "alarm": (37, -1), "getitimer": (36, 102),
    "setitimer": (38, 103), "signalfd": (282, -1), "signalfd4": (289, 74),
    "timer_create": (222, 107), "timer_settime": (223, 110), "timer_gettime": (224, 108),
    "timer_getoverrun": (225, 109), "timer_delete": (226, 111),
    # clocks
    "nanosleep": (35, 101), "clock_nanosleep": (230, 115), "clock_gettime": (228, 113),
    "clock_getres": (229, 114), "gettimeofday": (96, 169), "time": (201, -1), "times": (100, 153),
    "timerfd_create": (283, 85), "timerfd_settime": (286, 86), "timerfd_gettime": (287, 87),
    # files: which ones is Landlock's to say
    "read": (0, 63), "write": (1, 64), "open": (2, -1), "openat": (257, 56), "openat2": (437, 437),
    "creat": (85, -1), "close": (3, 57), "close_range": (436, 436), "lseek": (8, 62),
    "pread64": (17, 67), "pwrite64": (18, 68), "readv": (19, 65), "writev": (20, 66),
    "preadv": (295, 69), "pwritev": (296, 70), "preadv2": (327, 286), "pwritev2": (328, 287),
    "stat": (4, -1), "fstat": (5, 80), "lstat": (6, -1), "newfstatat": (262, 79),
    "statx": (332, 291), "access": (21, -1), "faccessat": (269, 48), "faccessat2": (439, 439),
    "getdents": (78, -1), "getdents64": (217, 61), "getcwd": (79, 17), "chdir": (80, 49),
    "fchdir": (81, 50), "rename": (82, -1), "renameat": (264, 38), "renameat2": (316, 276),
    "mkdir": (83, -1), "mkdirat": (258, 34), "rmdir": (84, -1), "link": (86, -1),
    "linkat": (265, 37), "unlink": (87, -1), "unlinkat": (263, 35), "symlink": (88, -1),
    "symlinkat": (266, 36), "readlink": (89, -1), "readlinkat": (267, 78), "mknod": (133, -1),
    "mknodat": (259, 33), "umask": (95, 166), "statfs": (137, 43), "fstatfs": (138, 44),
    "ftruncate": (77, 46), "fallocate": (285, 47), "flock": (73, 32), "fsync": (74, 82),
    "fdatasync": (75, 83), "syncfs": (306, 267), "sync_file_range": (277, 84),
    "readahead": (187, 213), "fadvise64": (221, 223), "sendfile": (40, 71),
    "copy_file_range": (326, 285), "splice": (275, 76), "tee": (276, 77), "vmsplice": (278, 75),
    "dup": (32, 23), "dup2": (33, -1), "dup3": (292, 24),
    # waiting
    "poll": (7, -1), "ppoll": (271, 73), "select": (23, -1), "pselect6": (270, 72),
    "epoll_create": (213, -1), "epoll_create1": (291, 20), "epoll_ctl": (233, 21),
    "epoll_wait": (232, -1), "epoll_pwait": (281, 22), "epoll_pwait2": (441, 441),
    "eventfd": (284, -1), "eventfd2": (290, 19), "pipe": (22, -1), "pipe2": (293, 59),
    "io_setup": (206, 0), "io_destroy": (207, 1), "io_getevents": (208, 4), "io_submit": (209, 2),
    "io_cancel": (210, 3), "io_pgetevents": (333, 292),
    # between its own threads: sockets can only be had in pairs
    "sendto": (44, 206), "recvfrom": (45, 207), "sendmsg": (46, 211), "recvmsg": (47, 212),
    "sendmmsg": (307, 269), "recvmmsg": (299, 243), "shutdown": (48, 210),
    "getsockname": (51, 204), "getpeername": (52, 205), "setsockopt": (54, 208),
    "getsockopt": (55, 209),
    # facts, and limits of its own
    "uname": (63, 160), "sysinfo": (99, 179), "getrusage": (98, 165), "getrlimit": (97, 163),
    "setrlimit": (160, 164), "getrandom": (318, 278), "getuid": (102, 174), "getgid": (104, 176),
    "geteuid": (107, 175), "getegid": (108, 177), "getgroups": (115, 158), "getresuid": (118, 148),
    "getresgid": (120, 150), "capget": (125, 90),
    # giving up more rights
    "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445),
    "landlock_restrict_self": (446, 446),
}  # fmt: skip
# Their first argument is a process: allowed for the worker's own number and 0, which is the caller.
# The number of another thread is refused, even one of its own: a filter cannot tell whose it is.
FOR_ITSELF: dict[str, Numbers] = {
    "kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "prlimit64": (302, 261), "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "migrate_pages": (256, 238), "move_pages": (279, 239),
}  # fmt: skip
# Decided by more of their arguments: see seccomp.py.
CHECKED: dict[str, Numbers] = {
    "clone": (56, 220), "prctl": (157, 167), "fcntl": (72, 25), "ioctl": (16, 29),
    "socket": (41, 198), "socketpair": (53, 199), "setpriority": (141, 140),
    "ioprio_set": (251, 30),
}  # fmt: skip
# Only for workers that compile.
STARTS_PROGRAMS: dict[str, Numbers] = {
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, -1), "vfork": (58, -1),
}  # fmt: skip
# Only for workers that drive a device: CUDA opens a local socket of its own when it starts.
LISTENS: dict[str, Numbers] = {
    "bind": (49, 200), "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
}  # fmt: skip
# Answered with EPERM.
DENIED: dict[str, Numbers] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424), "kcmp": (312, 272),
    "tkill": (200, 130), "get_robust_list": (274, 100),
    # leaving the process group by which a worker and its compilers are killed
    "setsid": (112, 157), "setpgid": (109, 154),
    # reaching others by socket: Landlock does not see who connects to docker.sock
    "connect": (42, 203),
    # what processes of a user share
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197),
    "semget": (64, 190), "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "mq_timedsend": (242, 182),
    "mq_timedreceive": (243, 183), "mq_notify": (244, 184), "mq_getsetattr": (245, 185),
    # watching files
    "inotify_init": (253, -1), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "inotify_rm_watch": (255, 28), "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "cachestat": (451, 451),
    # a second way to make most system calls, which no filter sees
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    # what files are, beside their content: Landlock does not see these either
    "truncate": (76, 45), "chmod": (90, -1), "fchmod": (91, 52), "fchmodat": (268, 53),
    "fchmodat2": (452, 452), "chown": (92, -1), "fchown": (93, 55), "lchown": (94, -1),
    "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "setxattrat": (463, 463), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "removexattrat": (466, 466), "file_setattr": (469, 469),
    "utime": (132, -1), "utimes": (235, -1), "futimesat": (261, -1), "utimensat": (280, 88),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    # who it is
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159),
    "setfsuid": (122, 151), "setfsgid": (123, 152), "capset": (126, 91),
    "lsm_get_self_attr": (459, 459), "lsm_set_self_attr": (460, 460),
    "lsm_list_modules": (461, 461), "personality": (135, 92), "seccomp": (317, 277),
    # folders and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "move_mount": (429, 429), "open_tree": (428, 428), "open_tree_attr": (467, 467),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "statmount": (457, 457), "listmount": (458, 458),
    "listns": (470, 470), "unshare": (272, 97), "setns": (308, 268), "sysfs": (139, -1),
    "ustat": (136, -1),
    # the system
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "userfaultfd": (323, 282), "perf_event_open": (298, 241), "memfd_secret": (447, 447),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "swapon": (167, 224),
    "swapoff": (168, 225), "reboot": (169, 142), "acct": (163, 89), "sync": (162, 81),
    "syslog": (103, 116), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "sethostname": (170, 161), "setdomainname": (171, 162),
    "vhangup": (153, 58), "iopl": (172, -1), "ioperm": (173, -1), "modify_ldt": (154, -1),
    "set_thread_area": (205, -1), "get_thread_area": (211, -1), "lookup_dcookie": (212, 18),
    "uselib": (134, -1),
}  # fmt: skip
# Answered with ENOTSUP, as on a file system that has no attributes: copying programs then continue.
UNSUPPORTED: dict[str, Numbers] = {
    "getxattr": (191, 8), "lgetxattr": (192, 9), "fgetxattr": (193, 10), "getxattrat": (464, 464),
    "listxattr": (194, 11), "llistxattr": (195, 12), "flistxattr": (196, 13),
    "listxattrat": (465, 465), "file_getattr": (468, 468),
}  # fmt: skip
# Answered with ENOSYS, as are all numbers that are not in this file.
ABSENT: dict[str, Numbers] = {
    # its flags lie in memory, where no filter can look: the C library falls back on clone
    "clone3": (435, 435),
    # gone from Linux, or never there
    "_sysctl": (156, -1), "create_module": (174, -1), "get_kernel_syms": (177, -1),
    "query_module": (178, -1), "nfsservctl": (180, 42), "getpmsg": (181, -1), "putpmsg": (182, -1),
    "afs_syscall": (183, -1), "tuxcall": (184, -1), "security": (185, -1),
    "epoll_ctl_old": (214, -1), "epoll_wait_old": (215, -1), "vserver": (236, -1),
}  # fmt: skip
ALL = (
    ALLOWED | FOR_ITSELF | CHECKED | STARTS_PROGRAMS | LISTENS | DENIED | UNSUPPORTED | ABSENT
)  # fmt: skip


def system_call(number: int, *arguments: object) -> int:
    """Raises OSError, as calls of Python do."""
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return check_status(load_libc().syscall(ctypes.c_long(number), *plain))


def prctl(option: int, argument: int = 1) -> None:
    none = ctypes.c_ulong(0)
    check_status(load_libc().prctl(option, ctypes.c_ulong(argument), none, none, none))


def load_libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def check_status(status: int) -> int:
    """What a function of the C library returned; raises the OSError behind a negative value."""
    if status < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return status
