"""Run in a process of its own by the laws: digests of all that each decoder emits and of its last state."""

from hashlib import sha256

from tests.laws.programs import CASES, apply_all, program


def main() -> None:
    """Print one line per decoder and program."""
    for case in CASES:
        for seed in range(3):
            decoder = case.make()
            digest = sha256()
            for drafts in apply_all(decoder, program(seed, 600)):
                for draft in drafts:
                    digest.update(repr(draft).encode())
            digest.update(decoder.snapshot())
            print(case.name, seed, digest.hexdigest())


if __name__ == "__main__":
    main()
