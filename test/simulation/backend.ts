// A backend that spawns simulated programs and remembers all of them.

import { execError } from '#src/protocol/index.js';
import type { Backend, Child, ChildEvents, ResolvedCommand, WaitStatus } from '#src/process/child.js';
import { InputLedger } from './input-ledger.js';
import { OutputTruth } from './output-truth.js';
import { SimulatedProgram } from './program.js';
import type { Script } from './script.js';
import type { World } from './world.js';

/** Everything known about one program. */
export interface Spawned {
  readonly name: string;
  readonly serial: number;
  readonly script: Script;
  readonly program: SimulatedProgram;
  readonly truth: OutputTruth;
  readonly input: InputLedger;
}

export class SimulatedBackend implements Backend {
  readonly name = 'linux';
  readonly #world: World;
  readonly #scripts = new Map<string, { readonly script: Script; readonly input: InputLedger }>();
  readonly #spawned = new Map<string, Spawned>();
  #isClosed = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** Sets what a command with this name as its last argument will do. */
  prepare(name: string, script: Script): InputLedger {
    const input = new InputLedger(this.#world, name);
    this.#scripts.set(name, { script, input });
    return input;
  }

  find(name: string): Spawned | undefined {
    return this.#spawned.get(name);
  }

  all(): Spawned[] {
    return [...this.#spawned.values()];
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  spawn({ argv }: ResolvedCommand, events: ChildEvents): Child {
    const name = argv.at(-1) ?? '';
    const prepared = this.#scripts.get(name);
    if (prepared === undefined) throw new Error(`there is no script for ${name}`);
    const { script, input } = prepared;
    if (script.spawn === 'fails') throw execError('spawnFailed', { failure: 'outOfResources', problem: 'EAGAIN' });
    if (this.#spawned.has(name)) this.#world.fail(`${name} was spawned twice`);
    this.#world.effects += 1;
    this.#world.note(() => `${name}: is spawned`);
    const serial = this.#spawned.size + 1;
    const truth = new OutputTruth(serial);
    const program = new SimulatedProgram(
      {
        world: this.#world,
        name,
        serial,
        script,
        onInput: (bytes) => input.taken(bytes),
        onInputEnd: () => input.ended(),
      },
      recorded(events, truth),
    );
    this.#spawned.set(name, { name, serial, script, program, truth, input });
    return program.child;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }
}

/** Records what the backend passes on: exactly that must be received. */
function recorded(events: ChildEvents, truth: OutputTruth): ChildEvents {
  return {
    output: (stream, bytes) => {
      truth.handedOver(stream, bytes.length);
      events.output(stream, bytes);
    },
    streamEnded: (stream) => events.streamEnded(stream),
    exited: (status: WaitStatus, outputComplete: boolean) => {
      truth.exited();
      events.exited(status, outputComplete);
    },
    ended: () => events.ended(),
  };
}
