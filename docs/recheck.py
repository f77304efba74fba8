#!/usr/bin/env python3
"""Recompute Kazoe's numbers without Kazoe.

A plain program, written from docs/mathematics.md and docs/rank-order.md and not from the Rust
sources. It turns any block of shogi or mini shogi into its outcome counts and its digest, any rank
into its position and any position into its rank, and it checks ledger files against their own
fingerprints. It needs Python 3.8 or newer and nothing else.

It is meant to be read from top to bottom, beside the text:

    1. the games              4. the local rules and the reverse search
    2. positions and SFEN     5. the generator, the sampler, the digest and the fingerprint
    3. ranks                  6. ledger files
                              7. the commands
"""

import argparse
import bisect
import hashlib
import heapq
import itertools
import math
import struct
import sys

# ---------------------------------------------------------------------------------------------
# 1. The games
#
# A square is the number height * x + y: x counts files from Black's left, y counts ranks from the
# far side. A piece is its SFEN text: "P" and "+P" are Black's, "p" and "+p" White's, "" is empty.

BLACK, WHITE = 0, 1
ORTHOGONAL = [(0, -1), (0, 1), (-1, 0), (1, 0)]
DIAGONAL = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
GOLD = ORTHOGONAL + [(-1, -1), (1, -1)]

# Kind -> (steps, slides) as (dx, dy) for Black, who walks towards smaller y.
MOVES = {
    "K": (ORTHOGONAL + DIAGONAL, []),
    "G": (GOLD, []),
    "S": (DIAGONAL + [(0, -1)], []),
    "N": ([(-1, -2), (1, -2)], []),
    "L": ([], [(0, -1)]),
    "P": ([(0, -1)], []),
    "R": ([], ORTHOGONAL),
    "B": ([], DIAGONAL),
    "+S": (GOLD, []),
    "+N": (GOLD, []),
    "+L": (GOLD, []),
    "+P": (GOLD, []),
    "+R": (DIAGONAL, ORTHOGONAL),
    "+B": (ORTHOGONAL, DIAGONAL),
}
MIRROR_ORDER = "KGNLPSRB"
HAND_ORDER = "RBGSNLP"


def owned(kind, side):
    """The piece of that kind that belongs to `side`: ("+P", WHITE) -> "+p"."""
    return kind if side == BLACK else kind.lower()


class Game:
    """One variant, and the tables that follow from its rules."""

    def __init__(self, name, width, height, zone_ranks, counts, section_order):
        self.name, self.width, self.height = name, width, height
        self.squares = range(width * height)
        self.counts = counts  # type -> pieces of the set, in the order T of the rank order
        self.types = list(counts)
        self.place = {kind: i for i, kind in enumerate(self.types)}
        self.section_order = section_order
        self.zone = [
            {s for s in self.squares if s % height < zone_ranks},
            {s for s in self.squares if s % height >= height - zone_ranks},
        ]

        kinds = ["K"] + self.types + ["+" + kind for kind in self.types if kind != "G"]
        self.side, self.type, self.is_promoted = {}, {}, {}
        self.destinations = {}  # piece -> square -> rays of squares it may move to
        self.origins = {}  # piece -> square -> rays of squares it may have come from
        self.immobile = {}  # piece -> squares from which it could never move
        self.weight = {}  # piece -> square -> what it adds to H
        for side, kind in itertools.product((BLACK, WHITE), kinds):
            piece = owned(kind, side)
            self.side[piece] = side
            self.type[piece] = kind[-1]
            self.is_promoted[piece] = kind[0] == "+"
            self.destinations[piece] = [self.rays(kind, side, s, 1) for s in self.squares]
            self.origins[piece] = [self.rays(kind, side, s, -1) for s in self.squares]
            self.immobile[piece] = {s for s in self.squares if not self.destinations[piece][s]}
            self.weight[piece] = [self.h_of(kind, side, s, zone_ranks) for s in self.squares]
        self.weight[""] = [0 for _ in self.squares]
        self.attack_lines = [[self.lines_to(s, side) for s in self.squares] for side in (BLACK, WHITE)]

        self.king_pairs = self.make_king_pairs()
        self.sections, self.offsets, self.size = self.make_sections()

    def rays(self, kind, side, square, sign):
        """The squares that lie on each of the piece's moves from `square` (sign 1) or to it (-1)."""
        steps, slides = MOVES[kind]
        forward = sign if side == BLACK else -sign
        found = []
        for directions, longest in ((steps, 1), (slides, max(self.width, self.height))):
            for dx, dy in directions:
                x, y = divmod(square, self.height)
                ray = []
                for _ in range(longest):
                    x, y = x + forward * dx, y + forward * dy
                    if not (0 <= x < self.width and 0 <= y < self.height):
                        break
                    ray.append(self.height * x + y)
                if ray:
                    found.append(ray)
        return found

    def lines_to(self, target, side):
        """Where `side` may attack `target` from: lines of (square, pieces that attack from there).

        A line is followed outwards from `target` until it meets a piece."""
        lines = {}
        for piece, owner in self.side.items():
            if owner == side:
                for ray in self.origins[piece][target]:
                    line = lines.setdefault(ray[0], {})
                    for square in ray:
                        line.setdefault(square, set()).add(piece)
        return [list(line.items()) for line in lines.values()]

    def h_of(self, kind, side, square, zone_ranks):
        """The piece's share of H = 10 N + 10 P + D; Kings weigh nothing."""
        if kind == "K":
            return 0
        if kind[0] != "+":
            return 10
        y = square % self.height
        rank = y if side == BLACK else self.height - 1 - y
        return 20 + max(0, rank - zone_ranks + 1)

    # The two tables of the rank order, explained in section 3.

    def make_king_pairs(self):
        """All King pairs (Black's square, White's square) of the population, by digit."""
        height, left = self.height, self.height * (self.width // 2)
        pairs = []
        for others, kings in ((len(self.squares) - 1, range(left)),
                              (height * ((self.width + 1) // 2) - 1, range(left, left + height))):
            if kings[0] >= left and self.width % 2 == 0:
                break  # a board without a central file has only the first part
            for white_index in range(others):
                for black in kings:
                    white = white_index if white_index < black else white_index + 1
                    pairs.append((black, white))
        return pairs

    def make_sections(self):
        """All sections in order, as hand totals by type; the rank at which each begins; |P_K|."""
        order = {kind: i for i, kind in enumerate(self.section_order)}

        def hand_list(totals):
            return [(order[kind], total) for kind, total in zip(self.types, totals) if total]

        every = itertools.product(*(range(self.counts[kind] + 1) for kind in self.types))
        sections = sorted(every, key=hand_list)
        offsets, total = [], 0
        for totals in sections:
            offsets.append(total)
            size = len(self.king_pairs)
            empty = len(self.squares) - 2
            for kind, in_hand in zip(self.types, totals):
                on_board = self.counts[kind] - in_hand
                size *= in_hand + 1
                if on_board:
                    size *= categories(kind, on_board, empty)[1][-1]
                empty -= on_board
            total += size
        return sections, offsets, total


# ---------------------------------------------------------------------------------------------
# 2. Positions and SFEN
#
# A position is a tuple (board, hands, side to move): the board a tuple of pieces by square, the
# hands a pair of tuples of counts by type.


def to_sfen(game, position):
    board, hands, turn = position
    rows = []
    for y in range(game.height):
        row, gap = "", 0
        for x in range(game.width):
            piece = board[game.height * x + y]
            if piece and gap:
                row, gap = row + str(gap), 0
            row += piece
            gap += not piece
        rows.append(row + (str(gap) if gap else ""))
    hand = ""
    for side in (BLACK, WHITE):
        for kind in HAND_ORDER:
            count = hands[side][game.place[kind]] if kind in game.place else 0
            if count:
                hand += (str(count) if count > 1 else "") + owned(kind, side)
    return "{} {} {} 1".format("/".join(rows), "bw"[turn], hand or "-")


def from_sfen(game, sfen):
    fields = sfen.split()
    if len(fields) not in (3, 4) or fields[1] not in ("b", "w"):
        raise ValueError("an SFEN is `board b-or-w hands [move number]`: " + sfen)
    board = [""] * len(game.squares)
    rows = fields[0].split("/")
    if len(rows) != game.height:
        raise ValueError("{} ranks, expected {}".format(len(rows), game.height))
    for y, row in enumerate(rows):
        x, plus = 0, ""
        for letter in row:
            if letter == "+":
                plus = "+"
            elif letter.isdigit():
                x += int(letter)
            elif plus + letter not in game.side or x >= game.width:
                raise ValueError("rank {}: cannot place {}{}".format(y + 1, plus, letter))
            else:
                board[game.height * x + y] = plus + letter
                x, plus = x + 1, ""
        if x != game.width:
            raise ValueError("rank {} holds {} squares, expected {}".format(y + 1, x, game.width))
    hands, number = [[0] * len(game.types), [0] * len(game.types)], ""
    for letter in "" if fields[2] == "-" else fields[2]:
        if letter.isdigit():
            number += letter
        elif letter.upper() not in game.place:
            raise ValueError("no {} can be in hand".format(letter))
        else:
            hands[game.side[letter]][game.place[letter.upper()]] += int(number or 1)
            number = ""
    for kind in game.types:
        found = sum(1 for piece in board if piece and game.type[piece] == kind)
        found += sum(hand[game.place[kind]] for hand in hands)
        if found != game.counts[kind]:
            raise ValueError("{} pieces of type {}, the game has {}".format(found, kind, game.counts[kind]))
    if board.count("K") != 1 or board.count("k") != 1:
        raise ValueError("each side must have one King")
    return tuple(board), (tuple(hands[BLACK]), tuple(hands[WHITE])), "bw".index(fields[1])


def exchanged(game, position):
    """The same position seen from the other side of the board."""
    board, hands, turn = position
    return tuple(piece.swapcase() for piece in reversed(board)), (hands[1], hands[0]), 1 - turn


# ---------------------------------------------------------------------------------------------
# 3. Ranks (docs/rank-order.md)

CATEGORIES = {}


def categories(kind, count, empty):
    """The categories of `count` pieces of a type on `empty` squares, and where each one ends.

    A category is (promoted Black, promoted White, unpromoted Black, unpromoted White)."""
    key = kind == "G", count, empty
    if key not in CATEGORIES:
        splits, ends, total = [], [], 0
        most = 0 if kind == "G" else count
        for p in range(most + 1):
            for q in range(most - p + 1):
                for r in range(count - p - q + 1):
                    split = p, q, r, count - p - q - r
                    size, left = 1, empty
                    for group in split:
                        size *= math.comb(left, group)
                        left -= group
                    total += size
                    splits.append(split)
                    ends.append(total)
        CATEGORIES[key] = splits, ends
    return CATEGORIES[key]


def combination(index, places, count):
    """The index-th ascending sequence of `count` of `places` places, in lexicographic order."""
    chosen, place = [], 0
    while len(chosen) < count:
        beginning_here = math.comb(places - place - 1, count - len(chosen) - 1)
        if index < beginning_here:
            chosen.append(place)
        else:
            index -= beginning_here
        place += 1
    return chosen


def combination_index(chosen, places):
    index, place = 0, 0
    for done, target in enumerate(chosen):
        while place < target:
            index += math.comb(places - place - 1, len(chosen) - done - 1)
            place += 1
        place += 1
    return index


def groups_of(kind):
    return ["+" + kind, "+" + kind.lower(), kind, kind.lower()]


def unrank(game, rank):
    """The position with that rank."""
    if not 0 <= rank < game.size:
        raise ValueError("rank {} is not below the size {}".format(rank, game.size))
    number = bisect.bisect_right(game.offsets, rank) - 1
    totals, digits = game.sections[number], rank - game.offsets[number]

    black, white = [], []
    for total in totals:
        digits, digit = divmod(digits, total + 1)
        black.append(digit)
        white.append(total - digit)

    digits, digit = divmod(digits, len(game.king_pairs))
    board = [""] * len(game.squares)
    board[game.king_pairs[digit][0]] = "K"
    board[game.king_pairs[digit][1]] = "k"

    empty = [s for s in game.squares if not board[s]]
    for kind, total in zip(game.types, totals):
        count = game.counts[kind] - total
        if not count:
            continue
        splits, ends = categories(kind, count, len(empty))
        digits, digit = divmod(digits, ends[-1])
        which = bisect.bisect_right(ends, digit)
        digit -= ends[which - 1] if which else 0
        for piece, group in zip(groups_of(kind), splits[which]):
            if group:
                digit, index = divmod(digit, math.comb(len(empty), group))
                taken = [empty[i] for i in combination(index, len(empty), group)]
                for square in taken:
                    board[square] = piece
                empty = [s for s in empty if not board[s]]
    return tuple(board), (tuple(black), tuple(white)), BLACK


def rank_of(game, position):
    """The rank of a position of the population."""
    board, hands, turn = position
    kings = board.index("K"), board.index("k")
    if turn != BLACK or kings not in game.king_pairs:
        raise ValueError("outside the population: White to move, or its mirror image's Kings come first")
    totals = tuple(b + w for b, w in zip(*hands))
    digits = [(count, total + 1) for count, total in zip(hands[BLACK], totals)]
    digits.append((game.king_pairs.index(kings), len(game.king_pairs)))
    empty = [s for s in game.squares if s not in kings]
    for kind, total in zip(game.types, totals):
        count = game.counts[kind] - total
        if not count:
            continue
        splits, ends = categories(kind, count, len(empty))
        base = ends[-1]
        squares = [[s for s in empty if board[s] == piece] for piece in groups_of(kind)]
        which = splits.index(tuple(len(group) for group in squares))
        digit, unit = (ends[which - 1] if which else 0), 1
        for group in squares:
            if group:
                places = [i for i, s in enumerate(empty) if s in group]
                digit += unit * combination_index(places, len(empty))
                unit *= math.comb(len(empty), len(group))
                empty = [s for s in empty if s not in group]
        digits.append((digit, base))
    rank = 0
    for digit, base in reversed(digits):
        rank = rank * base + digit
    return game.offsets[game.sections.index(totals)] + rank


# ---------------------------------------------------------------------------------------------
# 4. The local rules and the reverse search (docs/mathematics.md)


def is_canonical(game, board):
    """Whether the position is not greater than its mirror image, in the mirror order."""
    keys, images = [], []
    for square, piece in enumerate(board):
        if piece:
            what = MIRROR_ORDER.index(game.type[piece]), not game.is_promoted[piece], game.side[piece]
            x, y = divmod(square, game.height)
            keys.append((what, square))
            images.append((what, game.height * (game.width - 1 - x) + y))
    return sorted(keys) <= sorted(images)


def has_pawn(game, board, square, pawn):
    """Whether that (unpromoted) Pawn stands on the square's file."""
    first = square - square % game.height
    return pawn in board[first:first + game.height]


def has_two_pawns(game, board):
    return any(
        board[first:first + game.height].count(pawn) > 1
        for first in range(0, len(board), game.height)
        for pawn in "Pp"
    )


def has_immobile(game, board):
    return any(piece and square in game.immobile[piece] for square, piece in enumerate(board))


def is_attacked(game, board, target, side):
    """Whether a piece of `side` attacks the square `target`."""
    for line in game.attack_lines[side][target]:
        for square, attackers in line:
            piece = board[square]
            if piece:
                if piece in attackers:
                    return True
                break
    return False


def has_legal_move(game, position):
    """Whether the side to move has any legal move, Pawn drops by the full rule included."""
    board, hands, turn = position
    board, king = list(board), owned("K", turn)

    def is_safe():
        return not is_attacked(game, board, board.index(king), 1 - turn)

    for source, piece in enumerate(position[0]):
        if not piece or game.side[piece] != turn:
            continue
        # Whether it promotes changes nothing here: both leave the same squares occupied.
        for ray in game.destinations[piece][source]:
            for target in ray:
                taken = board[target]
                if taken and game.side[taken] == turn:
                    break
                board[source], board[target] = "", piece
                safe = is_safe()
                board[source], board[target] = piece, taken
                if safe:
                    return True
                if taken:
                    break
    # Pawns last: their drop alone needs a look at the opponent's answers.
    for kind in sorted(game.types, key=lambda kind: kind == "P"):
        piece = owned(kind, turn)
        if not hands[turn][game.place[kind]]:
            continue
        for target in game.squares:
            if board[target] or target in game.immobile[piece]:
                continue
            if kind == "P" and has_pawn(game, board, target, piece):
                continue
            board[target] = piece
            legal = is_safe()
            if legal and kind == "P":
                after = tuple(board), changed(hands, turn, game.place[kind], -1), 1 - turn
                legal = has_legal_move(game, after)
            board[target] = ""
            if legal:
                return True
    return False


def changed(hands, side, place, by):
    """The hands after `by` pieces more for `side` of the type in that place."""
    hand = list(hands[side])
    hand[place] += by
    return (tuple(hand), hands[1]) if side == BLACK else (hands[0], tuple(hand))


def un_moves(game, position):
    """Every way to undo the last move, as (square it ended on, captured piece or "", square it
    came from or None for a drop, the piece as it stood there)."""
    board, hands, turn = position
    mover = 1 - turn
    king = board.index(owned("K", turn))
    pawn = owned("P", mover)
    work = list(board)
    drop_was_legal = None  # whether a Pawn dropped last is no mate: asked once, and only if needed
    for end, piece in enumerate(board):
        if not piece or game.side[piece] != mover:
            continue
        work[end] = ""

        if not game.is_promoted[piece] and game.type[piece] != "K" and not is_attacked(game, work, king, mover):
            if piece == pawn and drop_was_legal is None:
                drop_was_legal = has_legal_move(game, position)
            if piece != pawn or drop_was_legal:
                yield end, "", None, ""

        # What may have been captured on `end`: it lies in the mover's hand now.
        captured = []
        for kind in game.types:
            if hands[mover][game.place[kind]]:
                victim = owned(kind, turn)
                second = kind == "P" and has_pawn(game, work, end, victim)
                if end not in game.immobile[victim] and not second:
                    captured.append(victim)
                if kind != "G":
                    captured.append("+" + victim)

        before = [piece]
        if game.is_promoted[piece]:
            before.append(owned(game.type[piece], mover))
        for self in before:
            promoting = self != piece
            for ray in game.origins[self][end]:
                for start in ray:
                    if work[start]:
                        break
                    if promoting:
                        if start not in game.zone[mover] and end not in game.zone[mover]:
                            continue
                        if start in game.immobile[self]:
                            continue
                        if self == pawn and has_pawn(game, work, start, pawn):
                            continue
                    # The opponent's King must not be attacked before the move. A captured piece
                    # on `end` can only close a line to it.
                    work[start] = self
                    open_ok = not is_attacked(game, work, king, mover)
                    closed_ok = open_ok
                    if not open_ok and captured:
                        work[end] = captured[0]
                        closed_ok = not is_attacked(game, work, king, mover)
                        work[end] = ""
                    work[start] = ""
                    if open_ok:
                        yield end, "", start, self
                    if closed_ok:
                        for victim in captured:
                            yield end, victim, start, self
        work[end] = piece


def undo(game, position, un_move):
    """The predecessor that this un-move leads to."""
    board, hands, turn = position
    end, victim, start, self = un_move
    mover = 1 - turn
    before = list(board)
    before[end] = victim
    if start is None:
        hands = changed(hands, mover, game.place[game.type[board[end]]], 1)
    else:
        before[start] = self
        if victim:
            hands = changed(hands, mover, game.place[game.type[victim]], -1)
    return tuple(before), hands, mover


def is_reachable(game, root):
    """The reverse search: greedy best-first by H until only the Kings are left (H is 0 there and
    nowhere else), or until the ancestors are exhausted. A predecessor is made when it is taken."""
    board = root[0]
    first = sum(game.weight[piece][square] for square, piece in enumerate(board))
    if first == 0:
        return True
    seen, serial = set(), itertools.count()
    queue = [(first, next(serial), root, None)]
    while queue:
        h, _, position, un_move = heapq.heappop(queue)
        if un_move:
            position = undo(game, position, un_move)
        if position in seen:
            continue
        seen.add(position)
        board = position[0]
        for un_move in un_moves(game, position):
            end, victim, start, self = un_move
            new = h - game.weight[board[end]][end] + game.weight[victim][end]
            if start is not None:
                new += game.weight[self][start]
            if new == 0:
                return True
            heapq.heappush(queue, (new, next(serial), position, un_move))
    return False


def depth_of(game, root):
    """The largest breadth-first distance among the ancestors of an unreachable position."""
    depth, seen, layer = -1, {root}, [root]
    while layer:
        depth += 1
        older = {undo(game, position, u) for position in layer for u in un_moves(game, position)}
        layer = list(older - seen)
        seen |= older
    return depth


OUTCOMES = ["mirrored", "two_pawns", "immobile", "in_check", "unreachable", "reachable", "undecided"]


def outcome(game, position):
    """The first stage of the funnel that the position does not pass, or "reachable"."""
    board, _, turn = position
    if not is_canonical(game, board):
        return "mirrored"
    if has_two_pawns(game, board):
        return "two_pawns"
    if has_immobile(game, board):
        return "immobile"
    if is_attacked(game, board, board.index(owned("K", 1 - turn)), turn):
        return "in_check"
    return "reachable" if is_reachable(game, position) else "unreachable"


# ---------------------------------------------------------------------------------------------
# 5. The generator, the sampler, the digest and the fingerprint

MASK = 0xFFFFFFFF


def chacha20_stream(key, nonce):
    """ChaCha20's key stream in its original layout, in 64-byte pieces: a 64-bit block counter
    from 0 on, and a 64-bit nonce."""

    def quarter(v, a, b, c, d):
        for p, q, r, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            v[p] = (v[p] + v[q]) & MASK
            mixed = v[r] ^ v[p]
            v[r] = (mixed << turn | mixed >> (32 - turn)) & MASK

    for counter in itertools.count():
        state = struct.unpack("<16I", b"expand 32-byte k" + key + struct.pack("<QQ", counter, nonce))
        v = list(state)
        for _ in range(10):
            for i in range(4):
                quarter(v, i, i + 4, i + 8, i + 12)
            for i in range(4):
                quarter(v, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
        yield struct.pack("<16I", *((a + b) & MASK for a, b in zip(v, state)))


BLAKE3_IV = [0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19]
BLAKE3_PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8


def blake3_compress(chaining, block, counter, flags):
    """BLAKE3's compression function: the first eight words of its output."""
    words = list(struct.unpack("<16I", block.ljust(64, b"\0")))
    v = chaining + BLAKE3_IV[:4] + [counter & MASK, counter >> 32, len(block), flags]
    columns = [(i, i + 4, i + 8, i + 12) for i in range(4)]
    diagonals = [(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4) for i in range(4)]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(columns + diagonals):
            for word, first, second in ((words[2 * i], 16, 12), (words[2 * i + 1], 8, 7)):
                v[a] = (v[a] + v[b] + word) & MASK
                mixed = v[d] ^ v[a]
                v[d] = (mixed >> first | mixed << (32 - first)) & MASK
                v[c] = (v[c] + v[d]) & MASK
                mixed = v[b] ^ v[c]
                v[b] = (mixed >> second | mixed << (32 - second)) & MASK
        words = [words[i] for i in BLAKE3_PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)]


def blake3_chunk(part, number, root):
    """The chaining value of a chunk, at most 1,024 bytes, with that number."""
    chaining = BLAKE3_IV
    last = max(0, len(part) - 1) // 64
    for i in range(last + 1):
        flags = (CHUNK_START if i == 0 else 0) | (CHUNK_END | root if i == last else 0)
        chaining = blake3_compress(chaining, part[64 * i:64 * i + 64], number, flags)
    return chaining


def blake3_parent(left, right, root):
    """The chaining value of the node above two others."""
    return blake3_compress(BLAKE3_IV, struct.pack("<16I", *(left + right)), 0, PARENT | root)


def blake3(data):
    """The 32-byte BLAKE3 hash."""

    def node(part, first_chunk, root):
        """The chaining value of the subtree over `part`, whose first chunk has that number."""
        if len(part) > 1024:
            chunks = (len(part) - 1) // 1024  # full chunks that have something after them
            left = 1024 * (1 << (chunks.bit_length() - 1))
            right = node(part[left:], first_chunk + left // 1024, 0)
            return blake3_parent(node(part[:left], first_chunk, 0), right, root)
        return blake3_chunk(part, first_chunk, root)

    return struct.pack("<8I", *node(data, 0, ROOT))


BLOCK = 4096


def ranks_of_block(game, seed, block):
    """The ranks of the block's samples, one after the other."""
    text = "kazoe/1:{}:candidates:{}".format(game.name, seed)
    key = hashlib.sha256(text.encode("ascii")).digest()
    bits = (game.size - 1).bit_length()
    for piece in chacha20_stream(key, block):
        for half in (piece[:32], piece[32:]):
            draw = int.from_bytes(half, "little") & ((1 << bits) - 1)
            if draw < game.size:
                yield draw


def recompute(game, seed, block, samples=BLOCK, show=None, depths=None):
    """The outcome counts and the digest of a block; adds to `depths`, counts by depth, if they are given."""
    outcomes = bytearray()
    for number, rank in enumerate(itertools.islice(ranks_of_block(game, seed, block), samples)):
        position = unrank(game, rank)
        found = outcome(game, position)
        outcomes.append(OUTCOMES.index(found))
        if depths is not None and found == "unreachable":
            add_counts(depths, {depth_of(game, position): 1})
        if show:
            show(BLOCK * block + number, rank, position, found)
    hashed = blake3(struct.pack("<Q", block) + bytes(outcomes))
    counts = [outcomes.count(code) for code in range(len(OUTCOMES))]
    return counts, "{:032x}".format(int.from_bytes(hashed[:16], "little"))


def counts_text(counts):
    """Counts by key as key:count pairs, ascending, without zeros; "-" if there are none."""
    return ",".join("{}:{}".format(key, counts[key]) for key in sorted(counts) if counts[key]) or "-"


def hash16(text):
    """The first 16 bytes of the BLAKE3 hash as hexadecimal digits, in the order of the bytes."""
    return blake3(text.encode("ascii"))[:16].hex()


def fingerprint(identity, cells, depths, digest):
    """The fingerprint of a campaign's counts: `cells` and `depths` are counts by key."""
    return hash16("kazoe-fingerprint/1\n{}\nsamples {}\ncells {}\ndepths {}\ndigest {}\n".format(
        identity, sum(cells.values()), counts_text(cells), counts_text(depths), digest))


def identity_of(variant, population, design, seed, cap):
    """The text that names a campaign; the first ten digits of its hash are the campaign's id."""
    return "kazoe-campaign/1 variant={} population={} design={} seed={} cap={}".format(
        variant, population, design, seed, cap)


# ---------------------------------------------------------------------------------------------
# 6. Ledger files (docs/reproduce.md)

CHECK = "kazoe-check/1 "


class Lines:
    """The hash of lines, fed line by line: BLAKE3 over long texts in constant memory.

    A tree of chunks of 1,024 bytes: the stack holds the chaining values of complete subtrees, of
    2^k chunks each, the larger ones first."""

    def __init__(self):
        self.rest, self.chunks, self.stack = b"", 0, []

    def add(self, data):
        self.rest += data
        while len(self.rest) > 1024:
            self.stack.append(blake3_chunk(self.rest[:1024], self.chunks, 0))
            self.rest, self.chunks, complete = self.rest[1024:], self.chunks + 1, self.chunks + 1
            while complete % 2 == 0:
                right = self.stack.pop()
                self.stack.append(blake3_parent(self.stack.pop(), right, 0))
                complete //= 2

    def hash16(self):
        stack = list(self.stack)
        value = blake3_chunk(self.rest, self.chunks, 0 if stack else ROOT)
        while stack:
            value = blake3_parent(stack.pop(), value, 0 if stack else ROOT)
        return struct.pack("<8I", *value)[:16].hex()


def counts_of(text):
    """The counts by key that `key:count` pairs say."""
    pairs = [] if text == "-" else [pair.split(":") for pair in text.split(",")]
    return {int(key): int(count) for key, count in pairs}


def add_counts(total, more):
    for key, count in more.items():
        total[key] = total.get(key, 0) + count


def read_ledger(path):
    """Adds up a ledger file: (what is in it, what is wrong with it)."""
    header, cells, depths, digest = {}, {}, {}, 0
    segments, samples, lines, end, wrong = 0, 0, Lines(), None, []
    held = None  # a line that states the checks, if `end` follows
    with open(path, encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n").rstrip("\r")
            fields = line.split("\t")
            if end is not None:
                wrong.append("line {}: there is something after `end`".format(number))
            if fields[0] in ("submitted", "computed"):
                continue  # the ledger's dates, which no hash covers
            if held is not None and fields[0] != "end":
                lines.add((held + "\n").encode("utf-8"))
                held = None
            if fields[0] == "segment":
                segment_cells, segment_depths = counts_of(fields[3]), counts_of(fields[4])
                if sum(segment_cells.values()) != int(fields[2]):
                    wrong.append("line {}: the counts do not add up to the samples".format(number))
                if sum(segment_depths.values()) != segment_cells.get(OUTCOMES.index("unreachable"), 0):
                    wrong.append("line {}: the depths do not add up to the unreachable".format(number))
                add_counts(cells, segment_cells)
                add_counts(depths, segment_depths)
                digest = (digest + int(fields[5], 16)) % (1 << 128)
                segments, samples = segments + 1, samples + int(fields[2])
            elif fields[0] == "build" and fields[2].startswith(CHECK):
                held = line
                continue
            elif fields[0] == "end":
                end = fields[1:]
            elif fields[0] not in ("witness", "self-test", "build"):
                header[fields[0]] = fields[-1]
            if end is None:
                lines.add((line + "\n").encode("utf-8"))
    digest = "{:032x}".format(digest)
    if end != [str(segments), str(samples), digest]:
        wrong.append("the `end` line says {}, the lines above {} {} {}".format(
            "nothing" if end is None else " ".join(end), segments, samples, digest))
    identity = identity_of(*(header[name] for name in ("variant", "population", "design", "seed", "cap")))
    if blake3(identity.encode("ascii")).hex()[:10] != header["campaign"]:
        wrong.append("the campaign's id is not {}".format(header["campaign"]))
    found = fingerprint(identity, cells, depths, digest)
    if held is not None:
        checks = dict(field.split("=") for field in held.split(CHECK)[1].split(" "))
        if checks["fingerprint"] != found:
            wrong.append("the file states the fingerprint {}, its counts have {}".format(
                checks["fingerprint"], found))
        if checks["lines"] != lines.hash16():
            wrong.append("the file states the checksum {}, its lines have {}".format(
                checks["lines"], lines.hash16()))
    sums = {"identity": identity, "segments": segments, "cells": cells, "depths": depths,
            "digest": digest, "fingerprint": found, "stated": held is not None}
    return sums, wrong


# ---------------------------------------------------------------------------------------------
# 7. The commands

GAMES = {
    "shogi": lambda: Game(
        "shogi", 9, 9, 3, {"G": 4, "N": 4, "L": 4, "P": 18, "S": 4, "R": 2, "B": 2}, "GNLPSRB"),
    "minishogi": lambda: Game(
        "minishogi", 5, 5, 1, {"G": 2, "P": 2, "S": 2, "R": 2, "B": 2}, "RBGSP"),
}

EXAMPLES = """examples:
  recheck.py block minishogi 1 0                 mini shogi, seed 1, block 0 (a few seconds)
  recheck.py block shogi 1 0 --samples 100       the first 100 samples of a block, as if it were cut
  recheck.py block minishogi 1 0 --list          one line a sample: index, rank, SFEN, outcome, depth
  recheck.py campaign minishogi 1 10000          the first 10,000 samples of that seed, block by block
  recheck.py size shogi                          the population's exact size
  recheck.py unrank minishogi 0 10540203479009103412
  recheck.py rank minishogi "Kpb2/ksb2/gs3/gr3/pr3 b - 1"
  recheck.py judge minishogi "rbsgk/4p/5/P4/KGSBR b - 1"
  recheck.py check-ranks minishogi ranks.tsv     every line `rank<TAB>sfen`, both ways
  recheck.py check-verdicts shogi verdicts.tsv --every 10
  recheck.py check-blocks common/tests/data/block-digests.tsv
  recheck.py check-ledger minishogi.ledger.tsv   adds a ledger file up; its fingerprint, and what is wrong
"""


def lines_of(path):
    """The lines of a table, split at tabs, without comments."""
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file if line.strip() and line[0] != "#"]


def verdict(game, position):
    """The outcome and, for an unreachable position, its depth as text."""
    found = outcome(game, position)
    return found, str(depth_of(game, position)) if found == "unreachable" else ""


def report_failures(what, total, failures):
    for failure in failures:
        print(failure)
    print("{}: {} checked, {} differ".format(what, total, len(failures)))
    return 1 if failures or not total else 0


def print_tally(counts, digest):
    for name, count in zip(OUTCOMES, counts):
        print("{:<12}{:>8}".format(name, count))
    print("digest      " + digest)


def command_block(args, game):
    def show(index, rank, position, found):
        depth = str(depth_of(game, position)) if found == "unreachable" else ""
        print(index, rank, to_sfen(game, position), found, depth, sep="\t")

    counts, digest = recompute(game, args.seed, args.block, args.samples, show if args.list else None)
    if args.tsv:
        print(game.name, args.seed, args.block, args.samples, *counts, digest, sep="\t")
    elif not args.list:
        print("{}, candidates, seed {}, block {}, {} samples".format(
            game.name, args.seed, args.block, args.samples))
        print_tally(counts, digest)
    return 0


def command_campaign(args, game):
    totals, depths, sum_of_digests = [0] * len(OUTCOMES), {}, 0
    for first in range(0, args.total, BLOCK):
        samples = min(BLOCK, args.total - first)
        counts, digest = recompute(game, args.seed, first // BLOCK, samples, depths=depths)
        totals = [a + b for a, b in zip(totals, counts)]
        sum_of_digests = (sum_of_digests + int(digest, 16)) % (1 << 128)
    print("{}, candidates, seed {}, {} samples".format(game.name, args.seed, args.total))
    digest = "{:032x}".format(sum_of_digests)
    print_tally(totals, digest)
    print("depths      " + counts_text(depths))
    identity = identity_of(game.name, "candidates", "plain", args.seed, "none")
    print("fingerprint " + fingerprint(identity, dict(enumerate(totals)), depths, digest))
    return 0


def command_check_ledger(args, _):
    sums, wrong = read_ledger(args.file)
    print("{}, {} segments, {} samples".format(sums["identity"], sums["segments"], sum(sums["cells"].values())))
    print_tally([sums["cells"].get(code, 0) for code in range(len(OUTCOMES))], sums["digest"])
    print("depths      " + counts_text(sums["depths"]))
    print("fingerprint " + sums["fingerprint"])
    if not sums["stated"]:
        print("the file states no fingerprint: compare this one with the published one")
    for what in wrong:
        print("WRONG: " + what)
    return 1 if wrong else 0


def command_size(_, game):
    print(game.size)
    return 0


def command_unrank(args, game):
    for rank in args.ranks:
        print(rank, to_sfen(game, unrank(game, rank)), sep="\t")
    return 0


def command_rank(args, game):
    for sfen in args.sfens:
        position = from_sfen(game, sfen)
        print(rank_of(game, position), to_sfen(game, position), sep="\t")
    return 0


def command_judge(args, game):
    for sfen in args.sfens:
        position = from_sfen(game, sfen)
        twin = exchanged(game, position) if position[2] == WHITE else position
        print(to_sfen(game, position), *verdict(game, twin), sep="\t")
    return 0


def command_check_ranks(args, game):
    failures, rows = [], lines_of(args.file)
    for text, sfen in rows:
        position = unrank(game, int(text))
        if to_sfen(game, position) != sfen:
            failures.append("rank {}: {} expected, {} found".format(text, sfen, to_sfen(game, position)))
        if rank_of(game, from_sfen(game, sfen)) != int(text):
            failures.append("{}: rank {} expected".format(sfen, text))
    return report_failures("ranks", len(rows), failures)


def command_check_verdicts(args, game):
    failures, rows = [], lines_of(args.file)[::args.every]
    for row in rows:
        sfen, expected = row[0], (row[1], row[2] if len(row) > 2 else "")
        found = verdict(game, from_sfen(game, sfen))
        if found != expected:
            failures.append("{}: {} expected, {} found".format(sfen, expected, found))
    return report_failures("verdicts", len(rows), failures)


def command_check_blocks(args, _):
    games, failures, rows = {}, [], lines_of(args.file)
    for row in rows:
        name, seed, block, samples = row[0], int(row[1]), int(row[2]), int(row[3])
        if name not in games:
            games[name] = GAMES[name]()
        counts, digest = recompute(games[name], seed, block, samples)
        found = [str(count) for count in counts] + [digest]
        if found != row[4:]:
            failures.append("{} seed {} block {}: {} expected, {} found".format(
                name, seed, block, " ".join(row[4:]), " ".join(found)))
    return report_failures("blocks", len(rows), failures)


def natural(text):
    value = int(text.replace("_", ""))
    if value < 0:
        raise ValueError
    return value


def main():
    parser = argparse.ArgumentParser(
        description="Recompute Kazoe's numbers in plain Python: blocks, digests, ledger files, ranks, verdicts.",
        epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name, run, words, game=True):
        sub = commands.add_parser(name, help=words, description=words)
        sub.set_defaults(run=run)
        if game:
            sub.add_argument("game", choices=sorted(GAMES))
        return sub

    sub = command("block", command_block, "outcome counts and digest of one block")
    sub.add_argument("seed", type=natural)
    sub.add_argument("block", type=natural)
    sub.add_argument("--samples", type=natural, default=BLOCK, help="for a cut block (default 4096)")
    sub.add_argument("--list", action="store_true", help="print every sample instead")
    sub.add_argument("--tsv", action="store_true", help="print one line as in block-digests.tsv")
    sub = command("campaign", command_campaign, "counts, digest and fingerprint of a campaign's first samples")
    sub.add_argument("seed", type=natural)
    sub.add_argument("total", metavar="samples", type=natural)
    command("size", command_size, "the exact size of the population")
    command("unrank", command_unrank, "rank -> position").add_argument("ranks", nargs="+", type=natural)
    command("rank", command_rank, "position -> rank").add_argument("sfens", nargs="+", metavar="SFEN")
    command("judge", command_judge, "the outcome of a position, and the depth if unreachable").add_argument(
        "sfens", nargs="+", metavar="SFEN")
    command("check-ranks", command_check_ranks, "compare a table of ranks").add_argument("file")
    sub = command("check-verdicts", command_check_verdicts, "compare a table of verdicts")
    sub.add_argument("file")
    sub.add_argument("--every", type=int, default=1, help="only every n-th line")
    sub = command("check-blocks", command_check_blocks, "compare a table of block digests", game=False)
    sub.add_argument("file")
    sub = command("check-ledger", command_check_ledger,
                  "add up a ledger file and compare it with its own digest and fingerprint", game=False)
    sub.add_argument("file")

    args = parser.parse_args()
    if getattr(args, "samples", BLOCK) > BLOCK:
        parser.error("a block has at most 4096 samples")
    try:
        return args.run(args, GAMES[args.game]() if hasattr(args, "game") else None)
    except (ValueError, OSError) as error:
        print("recheck.py: {}".format(error), file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
