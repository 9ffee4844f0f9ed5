if not meta then return {raw_now, identity(), '', 0, 0} end
return {raw_now, identity(), meta[SERVER], meta[EPOCH], meta[FLOOR]}
