--- The picker of sessions in Telescope, where it is installed: the list while nothing is typed, a search of the ledger
--- as soon as something is.
local config = require("acp_adapter.config")

local M = {}

function M.is_there()
  return (pcall(require, "telescope.pickers"))
end

--- A line of JSON, of `sessions` or of `search`, as an entry of Telescope.
local function entry(line)
  local sessions = require("acp_adapter.sessions")
  local found = sessions.parse(line)[1]
  if not found then
    return nil
  end
  local listed = ("%s — %s"):format(found.title or "(no title)", sessions.age(found.updated_at))
  local text = found.snippet and sessions.hit_line(found) or listed
  return { value = found, id = found.session_id, cwd = found.cwd, display = text, ordinal = text }
end

local function command(cwd)
  return function(words)
    if words and words ~= "" then
      return require("acp_adapter.sessions").search_argv(words)
    end
    return cwd and config.argv("sessions", "--json", "--cwd", cwd) or config.argv("sessions", "--json", "--all")
  end
end

function M.pick(cwd)
  local actions, state = require("telescope.actions"), require("telescope.actions.state")
  require("telescope.pickers")
    .new({ debounce = 150 }, {
      prompt_title = "Sessions (type to search in all of them)",
      finder = require("telescope.finders").new_job(command(cwd), entry, nil, nil),
      sorter = require("telescope.sorters").empty(),
      attach_mappings = function(buffer)
        actions.select_default:replace(function()
          local chosen = state.get_selected_entry()
          actions.close(buffer)
          if chosen then
            require("acp_adapter.sessions").open(chosen.id, chosen.cwd)
          end
        end)
        return true
      end,
    })
    :find()
end

return M
