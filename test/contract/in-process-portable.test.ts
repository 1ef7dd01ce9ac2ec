// The contract in-process, on the portable backend.

import { connectInProcess } from '#src/index.js';
import { execContract } from './exec-contract.js';

execContract({
  name: 'in-process, portable backend',
  backend: 'portable',
  connect: async (options) => connectInProcess({ ...options, backend: 'portable' }),
});
