#!/usr/bin/env node
import { nodeProblem } from './node-guard.ts';

// Everything else is imported only once it is known that this Node can load it.
const problem = nodeProblem(process.versions.node);
if (problem === undefined) {
  const { runProgram } = await import('./program.ts');
  process.exitCode = await runProgram(process.argv.slice(2));
} else {
  console.error(problem);
  process.exitCode = 1;
}
