// What the head of a SKILL.md and the file next to it say about a skill, in the form in which Codex's client takes it.

import type { Result } from '../../protocol/index.js';
import { type YamlMap, type YamlValue, isYamlMap, parseYaml } from './yaml-subset.js';

type Plugin = Result<'capabilities/discoverV2'>['plugins'][number];
type Skill = Plugin['skills'][number];

/** Longest name, in characters: Codex's limit. */
const longestName = 64;

export interface SkillFiles {
  readonly instructions: { readonly path: string; readonly contents: string };
  readonly metadata: { readonly contents: string } | null;
}

/** Undefined if the head is missing or incomplete. `namespace` is the name of the plugin that the skill belongs to. */
export function readSkill({ instructions, metadata }: SkillFiles, namespace: string | undefined): Skill | undefined {
  const head = mapIn(/^---[ \t]*\r?\n([^]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(instructions.contents)?.[1]);
  const description = lineIn(head?.['description']);
  if (head === undefined || description === undefined || description === '') return undefined;
  const folder = decodeURIComponent(instructions.path.split('/').at(-2) ?? '');
  const name = lineIn(head['name']) ?? folder;
  if (name === '' || name.length > longestName) return undefined;
  const notes = mapIn(metadata?.contents);
  const own = head['metadata'];
  return {
    name: namespace === undefined ? name : `${namespace}:${name}`,
    description,
    shortDescription: (isYamlMap(own) ? lineIn(own['short-description']) : undefined) ?? null,
    path: instructions.path,
    dependencies: dependenciesIn(notes?.['dependencies']),
    policy: policyIn(notes?.['policy']),
  };
}

function mapIn(text: string | undefined): YamlMap | undefined {
  if (text === undefined) return undefined;
  try {
    const value = parseYaml(text);
    return isYamlMap(value) ? value : undefined;
  } catch {
    return undefined; // not in the form that is read here; the caller reports what could not be loaded
  }
}

function dependenciesIn(value: YamlValue): Skill['dependencies'] {
  const listed = isYamlMap(value) ? value['tools'] : undefined;
  const tools = (Array.isArray(listed) ? listed : []).filter(isYamlMap).flatMap((tool) => {
    const [type, subject] = [lineIn(tool['type']), lineIn(tool['value'])];
    if (type === undefined || subject === undefined) return [];
    const port = Number(lineIn(tool['oauth_callback_port']));
    return {
      type,
      value: subject,
      description: lineIn(tool['description']) ?? null,
      transport: lineIn(tool['transport']) ?? null,
      command: lineIn(tool['command']) ?? null,
      url: lineIn(tool['url']) ?? null,
      oauthCallbackPort: Number.isInteger(port) && port > 0 ? port : null,
    };
  });
  return tools.length === 0 ? null : { tools };
}

function policyIn(value: YamlValue): Skill['policy'] {
  if (!isYamlMap(value)) return null;
  const [allow, products] = [value['allow_implicit_invocation'], value['products']];
  return {
    allowImplicitInvocation: allow === 'true' ? true : allow === 'false' ? false : null,
    products: (Array.isArray(products) ? products : []).filter((product) => typeof product === 'string'),
  };
}

/** In one line, without superfluous spaces. */
function lineIn(value: YamlValue): string | undefined {
  return typeof value === 'string' ? value.trim().replace(/\s+/g, ' ') : undefined;
}
