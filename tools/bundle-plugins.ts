import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import type { Loader, Plugin } from 'esbuild';

/** In place of `src/lib/crash-point.ts`; the calls of an empty function go with it. */
export const noCrashPoints: Plugin = {
  name: 'no-crash-points',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\]lib[/\\]crash-point\.ts$/ }, () => ({
      contents: 'export function crashPoint() {}',
    }));
  },
};

/**
 * In place of the package `debug`, by which the MQTT packages tell each step: with DEBUG set they would write passwords and codes into the
 * journal, and without it each call makes a list of its arguments all the same.
 */
export const noDebug: Plugin = {
  name: 'no-debug',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^debug$/ }, () => ({ path: 'debug', namespace: 'no-debug' }));
    onLoad({ filter: /.*/, namespace: 'no-debug' }, () => ({ contents: 'module.exports = () => () => {};' }));
  },
};

/** Ways to a broker that siteward's addresses do not name (`mqtt:` and `mqtts:` alone), as the package `mqtt` has them. */
export const noOtherWays: Plugin = {
  name: 'no-other-ways',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(ws|socks)$/ }, ({ path }) => ({ path, namespace: 'no-other-ways' }));
    onLoad({ filter: /.*/, namespace: 'no-other-ways' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/**
 * HTTP/2, which siteward speaks to nobody (`allowH2: false`): the packages that could load Node's own for it. No request is of its classes.
 */
export const noHttp2: Plugin = {
  name: 'no-http2',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?http2$/ }, ({ path }) => ({ path, namespace: 'no-http2' }));
    onLoad({ filter: /.*/, namespace: 'no-http2' }, () => ({
      contents: 'module.exports = { constants: {}, Http2ServerRequest: class {} };',
    }));
  },
};

/** Node's own streams, as the package `readable-stream` gives them itself with `READABLE_STREAM=disable`: the MQTT packages ask for a copy of them. */
export const streamsOfNode: Plugin = {
  name: 'streams-of-node',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^readable-stream$/ }, ({ path }) => ({ path, namespace: 'streams-of-node' }));
    onLoad({ filter: /.*/, namespace: 'streams-of-node' }, () => ({
      contents: "module.exports = require('node:stream');",
    }));
  },
};

/**
 * Of the package `undici` what siteward calls: no fetch, no cookies, no stand-ins for tests, and not its second parser, which runs only with a
 * variable of its own (`UNDICI_USE_MILO`). What else is asked for fails the build.
 */
export const undiciInParts: Plugin = {
  name: 'undici-in-parts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^\.\.\/milo\/(no-)?simd\.js$/ }, ({ path }) => ({ path, namespace: 'undici-in-parts' }));
    onLoad({ filter: /.*/, namespace: 'undici-in-parts' }, () => ({ contents: 'module.exports = undefined;' }));
    onLoad({ filter: /[/\\]node_modules[/\\]undici[/\\]index\.js$/ }, () => ({
      contents: `import Agent from './lib/dispatcher/agent.js';
import Dispatcher from './lib/dispatcher/dispatcher.js';
import Pool from './lib/dispatcher/pool.js';
import buildConnector from './lib/core/connect.js';
import api from './lib/api/index.js';
Object.assign(Dispatcher.prototype, api);
export { Agent, buildConnector, Pool };`,
    }));
  },
};

/** Of the package `prom-client` what siteward calls: no gateway to push to, nothing of many processes. What else is asked for fails the build. */
export const metricsInParts: Plugin = {
  name: 'metrics-in-parts',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]node_modules[/\\]prom-client[/\\]index\.js$/ }, () => ({
      contents: `import Registry from './lib/registry.js';
import Counter from './lib/counter.js';
import Gauge from './lib/gauge.js';
import Histogram from './lib/histogram.js';
import collectDefaultMetrics from './lib/defaultMetrics.js';
export { Counter, Gauge, Histogram, Registry, collectDefaultMetrics };`,
    }));
  },
};

/** What packages load for traces that siteward does not keep, and for timers of a browser. */
export const noTracesNoBrowser: Plugin = {
  name: 'no-traces-no-browser',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(@opentelemetry\/api|worker-timers)$/ }, ({ path }) => ({ path, namespace: 'no-traces' }));
    onLoad({ filter: /.*/, namespace: 'no-traces' }, () => ({ contents: 'module.exports = {};' }));
  },
};

/** `z` as a namespace of the importing file, of which the build can leave out what nobody names: JSON schemas, locales. */
export const zodInParts: Plugin = {
  name: 'zod-in-parts',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\].*\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8');
      const contents = text.replace(/^import \{ z \} from 'zod';$/m, "import * as z from 'zod';");
      return contents === text ? undefined : { contents, loader: 'ts' satisfies Loader };
    });
  },
};

/**
 * Node's own modules by `require`: an `import` asks a module for all that it exports, and these then load what Node has of its own besides,
 * as its HTTP client, web sockets, web crypto and blobs, of which siteward uses nothing.
 */
export const builtinsByRequire: Plugin = {
  name: 'builtins-by-require',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?[a-z][a-z0-9_/]*$/ }, ({ path, kind }) =>
      isBuiltin(path) && kind !== 'require-call' ? { path, namespace: 'builtins-by-require' } : undefined,
    );
    onLoad({ filter: /.*/, namespace: 'builtins-by-require' }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)});`,
    }));
  },
};

/** In place of the version in the sources. */
export const ofVersion = (version: string): Plugin => ({
  name: 'version',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\]lib[/\\]version\.ts$/ }, () => ({
      contents: `export const version = ${JSON.stringify(version)};`,
    }));
  },
});

/** The daemon is a file of its own: what the other verbs share with it is in theirs once more. */
export const daemonApart: Plugin = {
  name: 'daemon-apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/run\.ts$/ }, ({ kind }) =>
      kind === 'dynamic-import' ? { path: './run.js', external: true } : undefined,
    );
  },
};
