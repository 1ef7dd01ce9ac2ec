// A line of the benchmark: its name, its sizes, what it measures, and what it is compared with.

/** @import { Peer } from './peer.mjs' */
/** @import { Server, Target } from './server.mjs' */
/** @import { Stage } from './stage.mjs' */

/** @typedef {'ws' | 'stdio'} Transport */
/** @typedef {Record<string, number>} Values by the names of the metrics */

/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} unit
 * @property {'lower' | 'higher'} better
 * @property {Partial<Record<Transport, number>>} [atLeast] the target ratio
 * @property {string} [against] what it is compared with: codex when absent, the floor, or another metric of the line
 */

/**
 * @template Size
 * @typedef {object} Line
 * @property {string} name
 * @property {Record<'full' | 'quick', Size>} sizes
 * @property {Record<string, Metric>} metrics
 * @property {Transport[]} [transports] both when absent
 * @property {'nudge' | 'plain'} [reads]
 * @property {'json' | 'binary'} [output]
 * @property {string[]} [flags] of the server
 * @property {'sluice'} [only]
 * @property {'native' | 'launcher'} [codex]
 * @property {string} [codexFrom] the line whose codex figures are used
 * @property {Measuring<Size>['measure']} [measure] on a running server
 * @property {Measuring<Size>['measureTarget']} [measureTarget] or by starting servers itself
 * @property {Floor<Size>} [floor]
 */

/**
 * Declared as methods, so that a line of any size is assignable to `AnyLine`.
 * @template Size
 * @typedef {{
 *   measure(on: { peer: Peer, server: Server, stage: Stage, size: Size, transport: Transport }): Promise<Values>,
 *   measureTarget(on: { target: Target, transport: Transport, stage: Stage, size: Size }): Promise<Values>,
 * }} Measuring
 */

/**
 * @template Size
 * @typedef {{ name: string, measure(on: { stage: Stage, size: Size, transport: Transport }): Promise<Values> }} Floor
 */

/** @typedef {Line<object>} AnyLine */

/**
 * Infers the type of `size` in `measure` from the sizes.
 * @template {object} Size
 * @param {Line<Size>} definition
 * @returns {AnyLine}
 */
export function defineLine(definition) {
  return definition;
}
