// Formatting of numbers, dates and names.

export function number(value, digits = 2) {
  if (value === null || value === undefined || Number.isNaN(value)) return "—";
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? (0).toFixed(digits) : text).replace("-", "−");
}

/** A reward, without trailing zeros. */
export function reward(value) {
  if (value === null || value === undefined) return "—";
  return String(Math.round(value * 100) / 100).replace("-", "−");
}

/** A share in percent; tiny values are not rounded to 0. */
export function share(value) {
  if (value === null || value === undefined) return "—";
  if (value <= 0) return "0 %";
  if (value < 0.0005) return "< 0.1 %";
  if (value >= 0.9995 && value < 1 - 1e-12) return "> 99.9 %";
  return value >= 1 - 1e-12 ? "100 %" : `${(100 * value).toFixed(1)} %`;
}

export function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

export function when(moment) {
  const date = new Date(moment);
  return Number.isNaN(date.getTime())
    ? String(moment)
    : date.toLocaleString([], {
        day: "numeric",
        month: "short",
        hour: "2-digit",
        minute: "2-digit",
        ...(date.getFullYear() === new Date().getFullYear() ? {} : { year: "numeric" }),
      });
}

export function megabytes(bytes) {
  return `${Math.round(bytes / 1048576)} MB`;
}

/** A short name of a run: its name or folder, and its score. */
export function runName(run) {
  const score = run.rounds_done
    ? `scores ${number(run.scores.best, 1)}`
    : `${run.rounds_done} of ${run.rounds} rounds`;
  return `${run.title || run.id}, ${score}`;
}
