// Opens wires from clients to the server, and makes them fail as the scenario specifies.

import type { Server } from '#src/server/index.js';
import type { Channel } from '#src/rpc/channel.js';
import { type Direction, Wire } from './wire.js';
import { type ArmedCut, WireRules } from './wire-rules.js';
import type { World } from './world.js';

export class Network {
  readonly rules: WireRules;
  readonly #world: World;
  readonly #server: Server;
  readonly #wires = new Map<string, Wire[]>();
  readonly #unreachableUntil = new Map<string, number>();

  constructor(world: World, server: Server) {
    this.#world = world;
    this.#server = server;
    this.rules = new WireRules(world);
  }

  async open(client: string): Promise<Channel> {
    const wires = this.#wires.get(client) ?? [];
    const name = `${client}/${wires.length + 1}`;
    await new Promise<void>((resolve) => void this.#world.soon(this.#world.dice(name), resolve));
    if (this.#world.now() < (this.#unreachableUntil.get(client) ?? 0)) throw new Error('unreachable');
    const wire = new Wire(this.#world, name, this.rules);
    this.#wires.set(client, [...wires, wire]);
    this.rules.add(wire, client);
    this.#world.note(() => `${name}: is opened`);
    this.#server.accept(wire.serverEnd);
    return wire.clientEnd;
  }

  arm(client: string, cut: ArmedCut): void {
    this.rules.arm(client, cut);
  }

  stall(client: string, lane: Direction, ms: number): void {
    this.#wires.get(client)?.at(-1)?.[lane].stall(ms);
  }

  refuse(client: string, ms: number): void {
    this.#unreachableUntil.set(client, this.#world.now() + ms);
  }

  /** Stops all faults. */
  heal(): void {
    this.rules.disarm();
    this.#unreachableUntil.clear();
    for (const wires of this.#wires.values()) {
      for (const wire of wires) {
        wire.up.heal();
        wire.down.heal();
      }
    }
  }
}
