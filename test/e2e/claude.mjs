// Runs the real claude under the runner, with a scripted model in place of a real one, and reports the results.
//
//   npm run e2e:claude -- [--only oneShot,turns] [--on inProcess,websocket,stdio]

import { claude } from 'sluice/runner';
import { playAll } from './agent-stage.mjs';
import { scenarios } from './claude-scenarios.mjs';
import { startMockMessages } from './mock-messages.mjs';
import { scratchInstall } from './scratch-install.mjs';

const program = scratchInstall({ name: '@anthropic-ai/claude-code', version: '2.1.325', program: 'claude', scripts: 'run' });

await playAll(scenarios, async () => {
  const model = await startMockMessages();
  return {
    adapter: claude({ program }),
    env: {
      ANTHROPIC_BASE_URL: model.baseUrl,
      ANTHROPIC_API_KEY: 'mock-key',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      // Requests to any other host go to the mock, which answers them with 404.
      HTTP_PROXY: model.baseUrl,
      HTTPS_PROXY: model.baseUrl,
      NO_PROXY: '127.0.0.1',
    },
    props: { model, adapterOptions: { program } },
    close: async () => model.close(),
  };
});
