"""What FIX 4.4 says about messages and tags, as far as a session needs it."""

from typing import Final


class SessionRejectReason:
    """SessionRejectReason(373), FIX 4.4 vol. 2, Reject(3)."""

    INVALID_TAG_NUMBER: Final = 0
    REQUIRED_TAG_MISSING: Final = 1
    TAG_WITHOUT_VALUE: Final = 4
    VALUE_INCORRECT: Final = 5
    INCORRECT_DATA_FORMAT: Final = 6
    COMP_ID_PROBLEM: Final = 9
    SENDING_TIME_ACCURACY: Final = 10
    INVALID_MSG_TYPE: Final = 11
    TAG_APPEARS_MORE_THAN_ONCE: Final = 13
    TAG_OUT_OF_ORDER: Final = 14
    GROUP_FIELDS_OUT_OF_ORDER: Final = 15
    GROUP_COUNT_MISMATCH: Final = 16
    VALUE_INCLUDES_DELIMITER: Final = 17
    OTHER: Final = 99


class BusinessRejectReason:
    """BusinessRejectReason(380), FIX 4.4 vol. 2, BusinessMessageReject(j)."""

    OTHER: Final = 0
    UNSUPPORTED_MESSAGE_TYPE: Final = 3
    APPLICATION_NOT_AVAILABLE: Final = 4


HEARTBEAT: Final = b"0"
TEST_REQUEST: Final = b"1"
RESEND_REQUEST: Final = b"2"
REJECT: Final = b"3"
SEQUENCE_RESET: Final = b"4"
LOGOUT: Final = b"5"
EXECUTION_REPORT: Final = b"8"
ORDER_CANCEL_REJECT: Final = b"9"
LOGON: Final = b"A"
NEW_ORDER_SINGLE: Final = b"D"
ORDER_CANCEL_REQUEST: Final = b"F"
BUSINESS_MESSAGE_REJECT: Final = b"j"

APPLICATION_MSG_TYPES: Final = frozenset(
    (
        b"6 7 8 9 B C D E F G H J K L M N P Q R S T V W X Y Z a b c d e f g h i j k l m n o p q r s t u v w x y z "
        b"AA AB AC AD AE AF AG AH AI AJ AK AL AM AN AO AP AQ AR AS AT AU AV AW AX AY AZ "
        b"BA BB BC BD BE BF BG BH"
    ).split()
)
"""Every application MsgType(35) of FIX 4.4 (vol. 2): known, whether or not a session supports it."""

REQUIRED_TAGS: Final[dict[bytes, tuple[bytes, ...]]] = {
    TEST_REQUEST: (b"112",),
    RESEND_REQUEST: (b"7", b"16"),
    REJECT: (b"45",),
    SEQUENCE_RESET: (b"36",),
    LOGON: (b"98", b"108"),
    NEW_ORDER_SINGLE: (b"11", b"55", b"54", b"60", b"40"),
    ORDER_CANCEL_REQUEST: (b"41", b"11", b"55", b"54", b"60"),
}
"""Required tags by MsgType, in the order of FIX 4.4's tables; OrderQty(38) is left to the rules for orders."""

TIMESTAMP_TAGS: Final[dict[bytes, tuple[bytes, ...]]] = {
    NEW_ORDER_SINGLE: (b"60",),
    ORDER_CANCEL_REQUEST: (b"60",),
}
"""UTCTimestamp fields of a body whose format is checked (FIX 4.4 vol. 1, data types)."""

DATA_TAGS: Final[dict[bytes, bytes]] = {
    b"90": b"91",
    b"93": b"89",
    b"95": b"96",
    b"212": b"213",
    b"348": b"349",
    b"350": b"351",
    b"352": b"353",
    b"354": b"355",
    b"356": b"357",
    b"358": b"359",
    b"360": b"361",
    b"362": b"363",
    b"364": b"365",
    b"445": b"446",
    b"618": b"619",
    b"621": b"622",
}
"""Length tag to the data tag that must follow it: the value is taken by length and may hold SOH (vol. 1, data)."""

GROUPS: Final[dict[bytes, tuple[bytes, frozenset[bytes]]]] = {
    b"78": (b"79", frozenset((b"79", b"661", b"736", b"467", b"80", b"539"))),
    b"384": (b"372", frozenset((b"372", b"385"))),
    b"386": (b"336", frozenset((b"336", b"625"))),
    b"453": (b"448", frozenset((b"448", b"447", b"452", b"802"))),
    b"454": (b"455", frozenset((b"455", b"456"))),
    b"539": (b"524", frozenset((b"524", b"525", b"538", b"804"))),
    b"802": (b"523", frozenset((b"523", b"803"))),
    b"804": (b"545", frozenset((b"545", b"805"))),
}
"""Count tag to the first tag of an entry and all tags of an entry: the groups of Logon, D and F (vol. 2)."""
