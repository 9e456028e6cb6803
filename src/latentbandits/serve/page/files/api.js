// The service: requests with a key that stays in this tab.

const KEY = "latentbandits.key";
const PATIENCE = 15000; // milliseconds for an answer

/** A refusal of the service, or its absence: then the status is 0. */
export class Problem extends Error {
  constructor(status, text, wait = 0) {
    super(text);
    this.status = status;
    this.wait = wait;
  }
}

/** Return what a part of an address stands for; itself if it stands for nothing. */
export function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The key of this tab. One that comes with the address (`#key=...`) is taken over and leaves the address at once. */
export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
  takeOver() {
    const found = /^#key=(.+)$/.exec(location.hash);
    if (!found) return;
    history.replaceState(null, "", location.pathname);
    this.set(decoded(found[1]));
  },
};

/** Return the path of something about an experiment. */
export const about = (name, ...rest) => ["/v1/experiments", encodeURIComponent(name), ...rest].join("/");

/** Send a request and return what the answer says; throw a `Problem` if it is refused. */
export async function ask(path, { method = "GET", body, secret = key.get(), signal } = {}) {
  const response = await send(path, { method, body, secret, signals: [AbortSignal.timeout(PATIENCE), signal] });
  return response.json().catch(() => {
    throw new Problem(0, "the server does not answer"); // it was gone before all was said
  });
}

async function send(path, { method = "GET", body, secret, signals }) {
  const headers = { Authorization: `Bearer ${secret}` };
  const content = body === undefined ? undefined : JSON.stringify(body);
  let response;
  try {
    const signal = AbortSignal.any(signals.filter(Boolean));
    response = await fetch(path, { method, headers, body: content, signal, cache: "no-store" });
  } catch {
    throw new Problem(0, "the server does not answer");
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Problem(response.status, said.error ?? `status ${response.status}`, Number(response.headers.get("retry-after")));
}
