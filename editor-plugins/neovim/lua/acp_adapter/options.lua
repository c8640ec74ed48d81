--- What can be set in a session: mode, model and whatever else the agent offers.
local M = {}

--- The choices of a config option, groups laid flat: { value, name, description, group }.
function M.choices(option)
  if option.type == "boolean" then
    return { { value = true, name = "On" }, { value = false, name = "Off" } }
  end
  local list = {}
  for _, entry in ipairs(option.options or {}) do
    for _, choice in ipairs(entry.options or { entry }) do
      table.insert(list, vim.tbl_extend("force", choice, { group = entry.options and entry.name or nil }))
    end
  end
  return list
end

--- The modes of an agent that has no option for them, as an option.
local function of_modes(modes)
  local options = vim.tbl_map(function(mode)
    return { value = mode.id, name = mode.name, description = mode.description }
  end, modes.availableModes)
  return { id = "mode", name = "Mode", type = "select", currentValue = modes.currentModeId, options = options }
end

--- All that can be set, by id.
function M.all(session)
  local list = vim.list_extend({}, session.options)
  if session.modes and not session:option("mode") then
    table.insert(list, 1, of_modes(session.modes))
  end
  return list
end

--- The name of an option's current value; nil where the session has no such option.
function M.current(session, id)
  for _, option in ipairs(M.all(session)) do
    if option.id == id or option.category == id then
      for _, choice in ipairs(M.choices(option)) do
        if choice.value == option.currentValue then
          return choice.name
        end
      end
      return tostring(option.currentValue)
    end
  end
end

local function line(option, choice)
  local mark = choice.value == option.currentValue and "● " or "  "
  local about = choice.description and " — " .. choice.description or ""
  return mark .. (choice.group and choice.group .. ": " or "") .. choice.name .. about
end

local function told(reason)
  if reason then
    vim.notify(reason, vim.log.levels.ERROR)
  end
end

local function pick_value(session, option)
  vim.ui.select(M.choices(option), {
    prompt = option.name,
    kind = "acp_adapter_option",
    format_item = function(choice)
      return line(option, choice)
    end,
  }, function(choice)
    if choice then
      session:set(option.id, choice.value, told)
    end
  end)
end

--- Set the option of that id, or let the user pick the value; without an id, the option first.
function M.pick(session, id, value)
  local list = M.all(session)
  for _, option in ipairs(list) do
    if id and (option.id == id or option.category == id) then
      if value then
        return session:set(option.id, value, told)
      end
      return pick_value(session, option)
    end
  end
  if id then
    return told(("This session has no %s to set."):format(id))
  end
  vim.ui.select(list, {
    prompt = "Settings of this session",
    format_item = function(option)
      return ("%s: %s"):format(option.name, M.current(session, option.id))
    end,
  }, function(option)
    if option then
      pick_value(session, option)
    end
  end)
end

return M
