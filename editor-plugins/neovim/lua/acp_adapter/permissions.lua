--- `session/request_permission`: may this tool call run? Anything but a choice of the user's is a no.
local Session = require("acp_adapter.session")
local client = require("acp_adapter.client")
local questions = require("acp_adapter.questions")

local KEYS = { allow_once = "y", allow_always = "a", reject_once = "n", reject_always = "N" }

--- A key for each option by its kind; a second one of a kind, or of no known kind, has its number.
local function choices(options, reply)
  local taken = {}
  local result = {}
  for number, option in ipairs(options) do
    local key = KEYS[option.kind]
    if not key or taken[key] then
      key = tostring(number)
    end
    taken[key] = true
    table.insert(result, {
      key = key,
      label = option.name,
      run = function()
        reply(nil, { outcome = { outcome = "selected", optionId = option.optionId } })
      end,
    })
  end
  return result
end

client.handlers["session/request_permission"] = function(params, reply)
  local function dismiss()
    reply(nil, { outcome = { outcome = "cancelled" } })
  end
  local session = Session.get(params.sessionId)
  if not session then
    return dismiss()
  end
  local call = params.toolCall or {}
  -- What is asked about is shown with the call: the request may be the first to bring the diff.
  session:_receive(vim.tbl_extend("force", call, { sessionUpdate = "tool_call_update" }))
  questions.ask(session, {
    title = call.title or "Run a tool",
    call_id = call.toolCallId,
    choices = choices(params.options or {}, reply),
    dismiss = dismiss,
  })
end
