"""Any marginal of a calibrated model, also across cliques; hundreds at once share their work. Public numbers only.

A marginal inside one clique is summed out of it, through smaller marginals that are kept for the next query. A marginal
across cliques is gathered at one of them: each attribute from elsewhere arrives as a message, the conditional table
p(attribute | separator), and a message serves every query that needs it. A marginal across parts of the model that share
nothing is the product of one in each part.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from understudy.domain import Clique
from understudy.model.engine.on_numpy.inference import Beliefs
from understudy.model.engine.on_numpy.pairs import Pairs
from understudy.model.engine.on_numpy.pieces import (
    Piece,
    Real,
    apart,
    conditional,
    divided,
    fix,
    keep_only,
    mass_of,
    multiply_pair,
    multiply_three,
    normalised,
    part_of,
    sum_out,
)
from understudy.model.network import Network
from understudy.model.routes import Mask, Routes, bits_of, mask_of
from understudy.model.threads import workers

SLICE_ABOVE = 1 << 21
"""A product with more cells than this is made one slice at a time."""

SMALLEST_SUM = 1e-250
"""A product of scaled tables that sums to more than this has lost no term that could matter in 50 digits."""

PAIRS_FROM = 64
"""From this many pairs across cliques on, all pairs are worked out together …"""
SPREAD_UP_TO = 0.25
"""… unless no more than this part of the attributes are in all of them: then each of these by itself …"""
MOST_TOGETHER = 1 << 26
"""… as where the messages of all would have more cells than this."""

LARGEST = 1 << 25
"""Where a message would have more cells than this, a marginal is worked out for one value after another of what it tells."""

THREADED_FROM = 16
"""From this many queries on, the cores share them; two that work out the same message at once lose only time."""

THREADED_ABOVE = 1 << 19
"""In a smaller tree (of so many cells) the work is the interpreter's, not NumPy's, and threads only get in its way."""


KEPT, KEPT_ALWAYS = 3, 1 << 24
"""What answers share is kept up to so many times the bytes of the tree, and so many bytes more; small tables are kept as
they were rearranged as well. Numbers of single precision take half, so twice as many are kept."""


Held = tuple[tuple[int, int], ...]
"""Attributes, each with the one value that it has."""


class Answers:
    """Answers marginals of one calibrated model; keeps what it worked out on the way."""

    def __init__(self, network: Network, beliefs: Beliefs, *, dtype: Real = np.float64) -> None:
        self._dtype = dtype
        self.domain = network.domain
        self.sizes = network.domain.sizes
        self._network = network
        self._beliefs = beliefs
        self._routes = Routes(network.tree)
        self._inside: dict[tuple[int, Mask], Piece] = {}
        self._messages: dict[tuple[int, int, Mask], Piece] = {}
        self._places: dict[int, tuple[int, int]] = {}
        self._masks = [mask_of(scope) for scope in network.plan.scopes]
        self._kept = 0

    def marginals(self, cliques: Sequence[Clique], total: float) -> list[NDArray[np.float64]]:
        """Return the marginals on ``cliques``, each summing to ``total``."""
        masks = [mask_of([self.domain.index(a) for a in clique]) for clique in cliques]
        parts = [self._routes.split(mask) for mask in masks]
        whole = list(dict.fromkeys(part for some in parts for part in some))
        found = self._pairs(whole)
        left = [mask for mask in whole if mask not in found]
        found |= zip(left, self._all(left), strict=True)
        scaled = {mask: piece.table * total for mask, piece in found.items()}
        return [scaled[some[0]] if len(some) == 1 else _product([found[p] for p in some], scaled[some[0]]) for some in parts]

    def _pairs(self, masks: list[Mask]) -> dict[Mask, Piece]:
        """Return the pairs across cliques among ``masks``, if they are many."""
        pairs_of = ((bits[0], bits[1]) for mask in masks if len(bits := bits_of(mask)) == 2)
        cliques, homes = self._routes.cliques, self._routes.homes
        across = [(a, b) for a, b in pairs_of if not any(cliques[i] >> b & 1 for i in homes[a])]
        if len(across) < PAIRS_FROM:
            return {}
        pairs, asked = Pairs(self._routes, self._within), {1 << a | 1 << b for a, b in across}
        few = set(_few_first(across))
        with np.errstate(invalid="ignore"):
            if len(few) > SPREAD_UP_TO * len(self.sizes) and pairs.cells(asked) <= MOST_TOGETHER:
                return pairs.all_of(asked)
            return {mask: piece for a in few for mask, piece in pairs.spread(a, asked).items()}

    def _all(self, masks: list[Mask]) -> list[Piece]:
        """Return the marginals on ``masks``, each inside one part of the model, as probabilities.

        Those that are gathered at the same clique come one after the other: they share most.
        """
        places = {mask: self._routes.place(mask) for mask in masks}
        queue = sorted(places, key=places.__getitem__)
        if len(masks) < THREADED_FROM or self._network.tree.cells < THREADED_ABOVE:
            found = {mask: self._marginal(mask, places[mask]) for mask in queue}
            return [found[mask] for mask in masks]
        each = -(-len(queue) // (8 * workers()))
        parts = [queue[k : k + each] for k in range(0, len(queue), each)]
        with ThreadPoolExecutor(max_workers=workers()) as pool:
            done = pool.map(lambda part: [self._marginal(mask, places[mask]) for mask in part], parts)
            found = dict(zip(queue, chain.from_iterable(done), strict=True))
        return [found[mask] for mask in masks]

    def _marginal(self, wanted: Mask, place: int) -> Piece:
        """Return one marginal with its axes in domain order, from clique ``place``."""
        # Some BLAS kernels warn of what lies past a table's end; ``mass_of`` looks at what they made.
        with np.errstate(invalid="ignore"):
            inside = self._routes.has(place, wanted)
            piece = self._within(place, wanted) if inside else self._across(place, wanted)
            table = piece.ordered()
            return Piece(bits_of(wanted), table * (1.0 / mass_of(table)))

    def _within(self, i: int, wanted: Mask) -> Piece:
        """Return the marginal of clique ``i`` on ``wanted``, summed out of the next larger one (smallest attribute last)."""
        known = self._inside.get((i, wanted))
        if known is None:
            missing = self._routes.cliques[i] & ~wanted
            smallest = min(bits_of(missing), key=self.sizes.__getitem__, default=-1)
            if missing & (missing - 1) == 0:
                known = self._out_of_belief(i, wanted)
            else:
                known = sum_out(self._within(i, wanted | 1 << smallest), smallest)
            self._forget_some(known)
            self._inside[i, wanted] = known
        return known

    def _belief(self, i: int) -> list[Piece]:
        """Return tables whose product is the belief on clique ``i``; the clique's own table is never made."""
        plan, beliefs = self._network.plan, self._beliefs
        node, step = self._places_of(i)
        if node >= 0:
            return [Piece(plan.scopes[node], beliefs.inside[node]), Piece(plan.scopes[node], beliefs.outside[node])]
        made = plan.steps[step]
        pieces = [Piece(plan.scopes[k], beliefs.inside[k]) for k in (made.left, made.right)]
        return [*pieces, Piece(plan.scopes[made.out], beliefs.outside[made.out])]

    def _places_of(self, i: int) -> tuple[int, int]:
        """Return the first node of the plan that holds clique ``i``; where there is none, the last step whose tables do."""
        if i not in self._places:
            masks, clique = self._masks, self._routes.cliques[i]
            node = next((k for k, mask in enumerate(masks) if clique & ~mask == 0), -1)
            steps = enumerate(self._network.plan.steps) if node < 0 else ()
            held = [k for k, s in steps if s.right >= 0 and clique & ~(masks[s.left] | masks[s.right]) == 0]
            self._places[i] = node, held[-1] if held else -1
        return self._places[i]

    def _out_of_belief(self, i: int, wanted: Mask) -> Piece:
        """Return the marginal of clique ``i`` on nearly all of it, as probabilities.

        Scaled tables can peak in different cells, so that their product is too small for a double: then, and where
        inference itself had to use logarithms, they are multiplied as logarithms.
        """
        pieces = self._belief(i)
        logarithmic = self._beliefs.logarithmic
        if not logarithmic:
            product = self._contract(pieces, wanted)
            if float(product.table.sum()) > SMALLEST_SUM:
                return normalised(product, self._dtype)
            with np.errstate(divide="ignore"):
                pieces = [Piece(piece.scope, np.log(piece.table)) for piece in pieces]
        return normalised(keep_only(self._exponential(pieces), wanted), self._dtype)

    def _exponential(self, pieces: list[Piece]) -> Piece:
        """Add up tables of logarithms, and return the exponential, scaled to maximum 1."""
        scope = bits_of(mask_of([a for piece in pieces for a in piece.scope]))
        table = np.zeros([self.sizes[a] for a in scope])
        for piece in pieces:
            table = table + piece.ordered().reshape([self.sizes[a] if a in piece.scope else 1 for a in scope])
        return Piece(scope, np.exp(table - table.max()))

    def _across(self, place: int, wanted: Mask, held: Held = ()) -> Piece:
        """Return a marginal gathered at clique ``place``: whole, or value by value where a message would be too large."""
        cells, told = self._routes.largest(place, wanted, mask_of([attribute for attribute, _ in held]))
        if cells <= LARGEST or not told:
            return self._gather(place, -1, wanted, held)
        widest = max(bits_of(told), key=self.sizes.__getitem__)
        parts = [self._across(place, wanted, (*held, (widest, value))) for value in range(self.sizes[widest])]
        scope = parts[0].scope
        return Piece((widest, *scope), np.stack([part.arranged(scope) for part in parts]))

    def _gather(self, i: int, towards: int, wanted: Mask, held: Held) -> Piece:
        """Return the joint of ``wanted`` at clique ``i``, together with its separator ``towards`` a neighbour (-1: none).

        What is ``held`` has one value, and no axis.
        """
        arriving, separators = self._routes.arriving(i, wanted), self._routes.separators[i]
        out = separators[towards] if towards >= 0 else 0
        needed = wanted & self._routes.cliques[i] | out
        for neighbour in arriving:
            needed |= separators[neighbour]
        pieces = [self._within(i, needed)]
        pieces += [self._message(neighbour, i, those, held) for neighbour, those in arriving.items()]
        keep = wanted | out
        for attribute, value in held:
            pieces, keep = [fix(piece, attribute, value) for piece in pieces], keep & ~(1 << attribute)
        return self._contract(pieces, keep)

    def _message(self, source: int, target: int, wanted: Mask, held: Held = ()) -> Piece:
        """Return p(wanted | separator) as ``source`` tells it to ``target``; kept, but where a value of it is ``held``."""
        held = tuple(one for one in held if wanted >> one[0] & 1)
        if held:
            joint = part_of(self._gather(source, target, wanted, held))
            return divided(joint, self._within(source, self._routes.separators[source][target]))
        known = self._messages.get((source, target, wanted))
        if known is None:
            joint = self._gather(source, target, wanted, ())
            mass_of(joint.table)
            known = conditional(joint, wanted)
            self._forget_some(known)
        else:
            self._messages.pop((source, target, wanted), None)
        self._messages[source, target, wanted] = known  # as the latest
        return known

    def _forget_some(self, coming: Piece) -> None:
        """Let go of what is kept where one more would be too much: of the messages, those that served least lately."""
        self._kept += coming.table.nbytes
        most = KEPT * self._network.tree.size + KEPT_ALWAYS
        if self._kept > most:
            self._inside.clear()
            messages = list(self._messages.items())
            self._kept = sum(piece.table.nbytes for _, piece in messages)
            for key, piece in messages:
                if self._kept <= most // 2:
                    break
                if self._messages.pop(key, None) is not None:
                    self._kept -= piece.table.nbytes
            self._kept += coming.table.nbytes

    def _contract(self, pieces: list[Piece], keep: Mask) -> Piece:
        """Multiply ``pieces`` and sum out all but ``keep``: the cheapest pair first, a slice at a time where it is large."""
        pieces = list(pieces)
        while len(pieces) > 1:
            a, b, size = self._cheapest(pieces, keep)
            others = 0
            for piece in pieces:
                if piece is not a and piece is not b:
                    others |= piece.mask
            staying = keep | others
            free = (a.mask | b.mask) & staying & ~keep
            if len(pieces) == 3 and all(piece.mask & ~keep == free for piece in pieces) and apart(pieces, free):
                return multiply_three(pieces, free, self.sizes)
            if size > SLICE_ABOVE and free:
                return self._slice(pieces, keep, max(bits_of(free), key=self.sizes.__getitem__))
            pieces = [piece for piece in pieces if piece is not a and piece is not b]
            pieces.append(multiply_pair(a, b, staying, self.sizes))
        return keep_only(pieces[0], keep)

    def _cheapest(self, pieces: list[Piece], keep: Mask) -> tuple[Piece, Piece, int]:
        """Return the pair whose product is smallest beside what it replaces, and the size of that product."""
        if len(pieces) == 2:
            return pieces[0], pieces[1], 0
        best = None
        for i, a in enumerate(pieces):
            for b in pieces[:i]:
                others = keep
                for piece in pieces:
                    if piece is not a and piece is not b:
                        others |= piece.mask
                size = self._routes.cells((a.mask | b.mask) & others)
                rank = size - a.table.size - b.table.size
                if best is None or rank < best[0]:
                    best = (rank, a, b, size)
        assert best is not None
        return best[1:]

    def _slice(self, pieces: list[Piece], keep: Mask, attribute: int) -> Piece:
        """Contract one value of ``attribute`` after another, and add up."""
        total: Piece | None = None
        for value in range(self.sizes[attribute]):
            part = self._contract([fix(piece, attribute, value) for piece in pieces], keep)
            if total is None:
                total = part
            else:
                total.table[...] += part.table.transpose([part.scope.index(a) for a in total.scope])
        assert total is not None
        return total


def _product(pieces: list[Piece], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiply tables that share nothing, axes in domain order; ``table`` is the first of them, scaled."""
    for piece in pieces[1:]:
        table = np.multiply.outer(table, piece.table)
    if table.ndim == len(pieces):
        return table
    scope = [a for piece in pieces for a in piece.scope]
    return np.ascontiguousarray(table.transpose(sorted(range(len(scope)), key=scope.__getitem__)))


def _few_first(pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return an attribute of each pair: the one that is in more of them, so that few attributes are in all."""
    often = Counter(attribute for pair in pairs for attribute in pair)
    return [a if often[a] >= often[b] else b for a, b in pairs]
