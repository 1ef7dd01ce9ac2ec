// What a line of the benchmark is: a name, how much of it is run, what it measures, and beside what.

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
 * @property {Partial<Record<Transport, number>>} [atLeast] what the ratio should be
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
 * @property {string} [codexFrom] the line whose figures of codex are taken
 * @property {Measuring<Size>['measure']} [measure] on a server that runs
 * @property {Measuring<Size>['measureTarget']} [measureTarget] or by starting servers itself
 * @property {Floor<Size>} [floor]
 */

/**
 * Methods, so that a line of any size is a line.
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
 * Its sizes give `measure` the type of `size`.
 * @template {object} Size
 * @param {Line<Size>} definition
 * @returns {AnyLine}
 */
export function defineLine(definition) {
  return definition;
}
