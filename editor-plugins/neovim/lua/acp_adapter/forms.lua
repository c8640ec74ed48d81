--- `elicitation/create`: a question of the model's as a form, filled in field by field with vim.ui.
local Session = require("acp_adapter.session")
local client = require("acp_adapter.client")
local questions = require("acp_adapter.questions")

local M = {}

--- The form's fields: those that must be filled in first, then choices, then free text.
local function fields(schema)
  local required = {}
  for _, name in ipairs(schema.required or {}) do
    required[name] = true
  end
  local list = {}
  for name, property in pairs(schema.properties or {}) do
    local options = property.oneOf or property.enum or (property.type == "boolean" and { true, false }) or nil
    table.insert(list, { name = name, property = property, options = options, required = required[name] })
  end
  local function rank(field)
    return (field.required and "0" or "1") .. (field.options and "0" or "1") .. field.name
  end
  table.sort(list, function(one, other)
    return rank(one) < rank(other)
  end)
  return list
end

local function label(option)
  if type(option) == "boolean" then
    return option and "Yes" or "No"
  end
  return type(option) == "table" and (option.title or option.const) or tostring(option)
end

local function value_of(option)
  return type(option) == "table" and option.const or option
end

--- Ask for one field: `done(value)`, nil where the user leaves it.
local function ask_field(field, message, done)
  local title = field.property.title or field.name
  if field.options then
    vim.ui.select(field.options, { prompt = message, format_item = label }, function(option)
      done(option ~= nil and value_of(option) or nil)
    end)
  else
    vim.ui.input({ prompt = ("%s\n%s: "):format(message, title) }, function(text)
      local is_number = field.property.type == "number" or field.property.type == "integer"
      done(text and text ~= "" and (is_number and tonumber(text) or text) or nil)
    end)
  end
end

--- Fill in the form: `done(content)`, nil where the user gives up. Optional text is asked for only where no option was
--- chosen: it is there for an answer in other words.
function M.fill(schema, message, done)
  local list, content, chosen = fields(schema), vim.empty_dict(), false
  local function step(at)
    local field = list[at]
    if not field then
      return done(next(content) ~= nil and content or nil)
    end
    if chosen and not field.required and not field.options then
      return step(at + 1)
    end
    ask_field(field, message, function(value)
      if value == nil and field.required then
        return done(nil)
      end
      chosen = chosen or (value ~= nil and field.options ~= nil)
      content[field.name] = value
      step(at + 1)
    end)
  end
  step(1)
end

client.handlers["elicitation/create"] = function(params, reply)
  local session = Session.get(params.sessionId)
  local function dismiss()
    reply(nil, { action = "cancel" })
  end
  if not session or not params.requestedSchema then
    return dismiss()
  end
  local question = { title = params.message or "The agent asks", call_id = params.toolCallId, dismiss = dismiss }
  local function fill()
    M.fill(params.requestedSchema, question.title, function(content)
      if content then
        reply(nil, { action = "accept", content = content })
      elseif session.running > 0 then
        questions.ask(session, question) -- left without an answer, it stays open
      else
        dismiss()
      end
    end)
  end
  question.choices = {
    { key = "y", label = "Answer", run = fill },
    {
      key = "n",
      label = "Decline to answer",
      run = function()
        reply(nil, { action = "decline" })
      end,
    },
  }
  questions.ask(session, question)
end

return M
