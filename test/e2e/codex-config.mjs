// The configuration of a codex that uses the mock model, never asks the user, and does not retry.

/** `settings` are lines of TOML at the top level, such as `model = "scripted"`. */
export function codexConfig(modelUrl, settings = []) {
  return `${settings.join('\n')}
    model_provider = "mock"
    approval_policy = "never"
    sandbox_mode = "danger-full-access"
    check_for_update_on_startup = false
    analytics.enabled = false
    [model_providers.mock]
    name = "mock"
    base_url = ${JSON.stringify(modelUrl)}
    wire_api = "responses"
    supports_websockets = false
    request_max_retries = 0
    stream_max_retries = 0
  `;
}
