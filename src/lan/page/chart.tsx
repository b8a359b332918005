import { gridOf, marksOf, type Point, roundUp, runsOf, type Step, type Value } from './chart.ts';
import { useWords } from './context.ts';

const width = 360;
const height = 150;
const edge = { left: 44, right: 8, top: 10, bottom: 22 };

/** Lines over a day: what each is stands in its name, and the second is dashed. */
export interface Line {
  readonly name: string;
  readonly value: Value;
}

export function Chart(props: {
  title: string;
  steps: readonly Step[];
  everyMs: number;
  /** The end of the day that is shown. */
  now: number;
  lines: readonly Line[];
  /** What is counted in whole numbers. */
  whole?: boolean;
  shown: (value: number) => string;
}) {
  const { hour, t } = useWords();
  const { title, steps, everyMs, now, lines, whole = false, shown } = props;
  const from = now - 86_400_000;
  const drawn = lines.map(({ name, value }) => ({ name, runs: runsOf(steps, everyMs, value) }));
  const values = drawn.flatMap(({ runs }) => runs.flat().map(({ value }) => value));
  const top = roundUp(Math.max(0, ...values));
  const x = (at: number) => edge.left + ((at - from) / (now - from)) * (width - edge.left - edge.right);
  const y = (value: number) => height - edge.bottom - (value / top) * (height - edge.top - edge.bottom);
  const place = ({ at, value }: Point) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`;
  const caption = (
    <figcaption>
      {title}
      {lines.length > 1 && `: ${lines.map(({ name }) => name).join(', ')}`}
    </figcaption>
  );
  if (values.length === 0)
    return (
      <figure class="chart">
        {caption}
        <p>{t('chart.none')}</p>
      </figure>
    );
  return (
    <figure class="chart">
      {caption}
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={t('chart.about', { title, most: shown(Math.max(0, ...values)) })}
      >
        {gridOf(top, whole).map((value) => (
          <g key={value}>
            <line class="grid" x1={edge.left} x2={width - edge.right} y1={y(value)} y2={y(value)} />
            <text x={edge.left - 4} y={y(value) + 4} text-anchor="end">
              {shown(value)}
            </text>
          </g>
        ))}
        {marksOf(from, now).map((at) => (
          <g key={at}>
            <line class="grid" x1={x(at)} x2={x(at)} y1={edge.top} y2={height - edge.bottom} />
            <text x={x(at)} y={height - 6} text-anchor="middle">
              {hour(at)}
            </text>
          </g>
        ))}
        {drawn.map(({ name, runs }, nth) =>
          runs.map((run) =>
            run.length === 1 ? (
              run.map((point) => <circle key={name} class="dot" cx={x(point.at)} cy={y(point.value)} r={2} />)
            ) : (
              <polyline
                key={`${name} ${run[0]?.at}`}
                class={nth === 0 ? 'line' : 'line second'}
                points={run.map(place).join(' ')}
              />
            ),
          ),
        )}
      </svg>
    </figure>
  );
}
