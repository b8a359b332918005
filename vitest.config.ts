import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/system/**'],
    pool: 'forks',
    // By itself vitest leaves one processor free; the tests often wait for processes of their own.
    maxWorkers: Math.max(3, availableParallelism()),
    // Each store thread compiles WebAssembly anew (Node strips its types with it); with memory protection keys V8 now
    // and then aborts the process over that (`Check failed: jit_page.has_value()`, seen on Node 24.21).
    execArgv: ['--no-memory-protection-keys'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // How long something may take is no test's business: a second is little on a busy machine.
    expect: { poll: { timeout: 20_000 } },
    reporters: ['default'],
  },
});
