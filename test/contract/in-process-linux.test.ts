// The contract in-process, on the linux backend.

import { connectInProcess } from '#src/index.js';
import { execContract } from './exec-contract.js';

execContract({
  name: 'in-process, linux backend',
  backend: 'linux',
  connect: async (options) => connectInProcess({ ...options, backend: 'linux' }),
});
